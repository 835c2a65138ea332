/** What the workers do, and import: the words of a text, and how often each comes. */

export function wordsOf(text) {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

export function tally(words) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
