/** A module whose functions a pool runs, for the types of its proxy. */

export const LIMIT = 5;

export function length(text: string): number {
  return text.length;
}

export default async function describe(count: number): Promise<string> {
  return `${count}`;
}
