const { heap } = require('plait');
const { tally, wordsOf } = require('../words.js');

exports.count = ({ text, total }) => {
  const words = wordsOf(text);
  const { buffer } = heap.view(total, 4);
  Atomics.add(new Uint32Array(buffer, total, 1), 0, words.length);
  return tally(words);
};
