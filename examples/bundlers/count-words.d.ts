import type { Pool } from 'plait';

export function countWords(pool: Pool): Promise<{ words: number; top: [string, number][] }>;
