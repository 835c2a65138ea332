/**
 * Makes the tables of figures in the README and in docs/explanation from bench/results, between their marks. `--check`
 * fails if they are not those.
 *
 * Invariant: every number in the tables is a median that the benchmark stored; none is typed in.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import * as performance from './figures/performance.js';
import * as readme from './figures/readme.js';

const END = '<!-- figures: end -->';

/** The page's text with each part between its marks. */
function filled(text, page, parts) {
  for (const [name, part] of Object.entries(parts)) {
    const begin = `<!-- ${name}: made by bench/figures.js -->`;
    const from = text.indexOf(begin);
    const to = text.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`${page} has no marks for '${name}': ${begin} … ${END}`);
    text = `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`;
  }
  return text;
}

const isCheck = process.argv.includes('--check');
for (const { page, parts } of [readme, performance]) {
  const url = new URL(`../${page}`, import.meta.url);
  const before = readFileSync(url, 'utf8');
  const after = filled(before, page, parts());
  if (after === before) continue;
  if (isCheck) {
    console.error(`${page} does not show the figures of bench/results: run \`node bench/figures.js\``);
    process.exitCode = 1;
  } else writeFileSync(url, after);
}
