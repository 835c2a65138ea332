export function wordsOf(text: string): string[];
export function tally(words: readonly string[]): Record<string, number>;
