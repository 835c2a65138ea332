const { join } = require('node:path');
const { Pool } = require('plait');
const { countWords } = require('../count-words.js');

const pool = new Pool(join(__dirname, 'work.cjs'));
void countWords(pool).then((result) => console.log(JSON.stringify(result)));
