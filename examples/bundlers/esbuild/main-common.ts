import { join } from 'node:path';
import { Pool } from 'plait';
import { countWords } from '../count-words.js';

const pool = new Pool(join(__dirname, 'work.cjs')); // a CommonJS bundle has no import.meta.url
void countWords(pool).then((result) => console.log(JSON.stringify(result)));
