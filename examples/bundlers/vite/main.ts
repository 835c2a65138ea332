import { Pool } from 'plait';
import { countWords } from '../count-words.js';
import work from './work.ts?worker&url';

const pool = new Pool(work);
document.querySelector('pre')!.textContent = JSON.stringify(await countWords(pool));
