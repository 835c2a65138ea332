/**
 * What became of an entrant that could not be measured.
 *
 * Invariant: a peer that fails costs its own cells and nothing else; Plait's failure ends the bench.
 */

const LONGEST = 80;

/** The reason, short enough for a cell: the first lines of the error and of its cause. */
export function reasonOf(error) {
  const words = [error, error?.cause].filter(Boolean).map((one) => String(one.message ?? one).split('\n')[0]);
  return words.join(': ').replaceAll('|', '/').slice(0, LONGEST) || 'no reason given';
}

/** Whether the bench goes on without the entrant. `needs`: the question's entrants that others are compared with. */
export const mayFail = ({ name }, needs = []) => !/\bplait\b/.test(name) && !needs.includes(name);
