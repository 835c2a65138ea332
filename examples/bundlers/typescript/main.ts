import { Pool } from 'plait';
import { countWords } from '../count-words.js';

const pool = new Pool(new URL('./work.ts', import.meta.url));
console.log(JSON.stringify(await countWords(pool)));
