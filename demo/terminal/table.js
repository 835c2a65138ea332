/** Prints rows as aligned columns: numbers and their headings end at the same place. */

/**
 * @param {string[]} headings
 * @param {string[][]} rows
 */
export function formatTable(headings, rows) {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i].length)));
  const line = (cells) => `  ${cells.map((cell, i) => cell.padStart(widths[i])).join('   ')}`;
  return [line(headings), ...rows.map(line)].join('\n');
}

export const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
export const percent = (share) => `${(share * 100).toFixed(0)} %`;
