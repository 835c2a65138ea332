import { Pool } from 'plait';
import { countWords } from '../count-words.js';

const pool = new Pool(new URL('./work.js', import.meta.url));

void countWords(pool).then((result) => {
  if (typeof document === 'undefined') console.log(JSON.stringify(result));
  else document.querySelector('pre').textContent = JSON.stringify(result);
});
