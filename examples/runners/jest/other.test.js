/** Each file of tests is a program of its own, with files of its own, also where Jest runs several in one process. */
const { fs } = require('plait/fs');
const { Pool, commonSpace } = require('plait');

test('nothing is left of another file', async () => {
  expect(fs.readdirSync('/')).toEqual([]);
  fs.writeFileSync('/other.txt', 'x');
  const pool = new Pool(require.resolve('../work.cjs'), { threads: 1 });
  expect(await pool.run('/other.txt', { name: 'readBack' })).toBe('x');
  await pool.close();
  commonSpace().check();
});
