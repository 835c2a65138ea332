/**
 * Results as data and as tables. The tables are made from the data alone.
 *
 * Invariant: asking one question replaces its answer and leaves the other answers of its suite unchanged.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { figures, median } from './statistics.js';

const RESULTS = new URL('../results/', import.meta.url);
/** All ratios are to this row. */
const BASE = 'plait';

/** Stores the answers ({ question: result }) of one suite, as JSON and as Markdown. */
export function save(suite, answers) {
  mkdirSync(RESULTS, { recursive: true });
  const data = new URL(`${suite}.json`, RESULTS);
  const before = existsSync(data) ? JSON.parse(readFileSync(data, 'utf8')) : {};
  const all = { ...before, ...answers };
  writeFileSync(data, `${JSON.stringify(all, null, 1)}\n`);
  const parts = Object.entries(all).map(([name, result]) => `## ${name}\n\n${formatResult(result)}`);
  writeFileSync(new URL(`${suite}.md`, RESULTS), `# Measured: ${suite}\n\n${parts.join('\n')}`);
}

/** One question's answer as Markdown, aligned for the eye, too. */
export function formatResult(result) {
  const { title, machine, versions, threads, rounds, columns, rows, notes } = result;
  const base = rows.find((row) => row.name === BASE);
  const headings = ['', ...columns.flatMap(({ label, ratio }) => (ratio ? [label, '× plait'] : [label]))];
  const cells = rows.map((row) => [
    row.name,
    ...columns.flatMap((column) => {
      const value = formatValues(
        row.samples.map((sample) => sample[column.key]),
        column.digits,
      );
      return column.ratio ? [value, formatRatio(row, base, column.key)] : [value];
    }),
  ]);
  const workers = typeof threads === 'number' ? `${threads} workers` : threads;
  const peers = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${title}.

${formatTable([headings, ...cells])}

${[...notes, `Median (least–most) of n = ${rounds}; ${workers}.`].join('\n')}
${machine.processor}, ${machine.cores} cores, ${machine.system}, Node.js ${machine.node}; ${peers.join(', ')}.
`;
}

/** A dash for what an entrant does not do; for what it failed at, how often and why. */
function formatValues(values, digits) {
  const there = figures(values);
  const failures = values.filter((value) => typeof value === 'string');
  if (there.length + failures.length < values.length) return '\u2013';
  const failed = `failed ${failures.length} of ${values.length}: ${failures[0]}`;
  if (there.length === 0) return failed;
  const text = (value) => value.toFixed(digits);
  const figure = `${text(median(there))} (${text(Math.min(...there))}–${text(Math.max(...there))})`;
  return failures.length === 0 ? figure : `${figure}; ${failed}`;
}

/** The median of the ratios within each round: a slow minute of the machine slows both. */
function formatRatio(row, base, key) {
  if (base === undefined) return '\u2013';
  const both = row.samples
    .map((sample, i) => [sample[key], base.samples[i][key]])
    .filter((pair) => figures(pair).length === 2);
  return both.length === 0 ? '\u2013' : median(both.map(([value, of]) => value / of)).toFixed(2);
}

function formatTable([headings, ...rows]) {
  const all = [headings, ...rows];
  const widths = headings.map((_, i) => Math.max(3, ...all.map((row) => row[i].length)));
  const line = (cells) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(headings), rule, ...rows.map(line)].join('\n');
}
