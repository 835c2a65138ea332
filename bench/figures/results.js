/** The stored results, and how the pages write numbers of them. Every number is a median of the stored samples. */

import { readFileSync } from 'node:fs';
import { figures, median } from '../harness/statistics.js';

/** One suite's questions. `of()`: the medians of a question's column for rows of these names, in their order. */
export function openResults(suite) {
  const questions = JSON.parse(readFileSync(new URL(`../results/${suite}.json`, import.meta.url), 'utf8'));
  const rowOf = (question, name) => {
    const row = questions[question]?.rows.find((candidate) => candidate.name === name);
    if (row === undefined) throw new Error(`bench/results/${suite}.json has no row '${name}' of '${question}'`);
    return row;
  };
  return {
    about: (question) => questions[question],
    of: (question, key, names) =>
      names.map((name) => {
        const parts = rowOf(question, name).samples.map((sample) => sample[key]);
        const there = figures(parts);
        if (there.length === 0 && parts.some((part) => typeof part === 'string')) {
          throw new Error(`bench/results/${suite}.json: '${name}' failed in '${question}': ${parts[0]}`);
        }
        return median(there);
      }),
  };
}

/** A table in Markdown: the headings, and rows of cells. */
export const table = (headings, rows) =>
  [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const THOUSAND = 1000;
const MILLION = 1e6;

/** Three digits at most: 814 k, 1.56 M. */
export const rate = (value) =>
  value < MILLION ? `${Math.round(value / THOUSAND)} k` : `${(value / MILLION).toFixed(2)} M`;
export const times = (value) => `${value.toFixed(2)} ×`;
export const whole = (value) => String(Math.round(value));
/** Two digits where there are no more before the point. */
export const short = (value) => (value < 10 ? value.toFixed(1) : whole(value));
export const tenth = (value) => value.toFixed(1);
