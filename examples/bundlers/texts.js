/** Texts to count: the same on every machine. */

const LEXICON = 'the loom holds threads and every thread keeps its own end of the cloth while many hands weave'.split(
  ' ',
);

/** `count` texts of `length` words each. */
export function makeTexts(count, length) {
  let state = 1;
  const next = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const word = () => LEXICON[Math.min(next(LEXICON.length), next(LEXICON.length))];
  return Array.from({ length: count }, () => Array.from({ length }, word).join(' '));
}
