import { join } from 'node:path';
import { PlaitError, Pool } from 'plait';
import fs, { readFileSync } from 'plait/fs';
import { heap } from 'plait/heap';

test('a task, a file and an error, imported', async () => {
  const pool = new Pool(join(__dirname, '../work.cjs'), { threads: 1 });
  try {
    expect(await pool.run(100, { name: 'countPrimes' })).toBe(25);
    await fs.promises.writeFile('/a', 'b');
    expect(await pool.run('/a', { name: 'readBack' })).toBe('b');
    expect(readFileSync('/a', 'utf8')).toBe('b');
    await expect(pool.run(0, { name: 'failOwn' })).rejects.toThrow(PlaitError);
    heap.free(heap.alloc(8));
  } finally {
    await pool.close();
  }
});

test('a function can be replaced', () => {
  const spy = jest.spyOn(fs, 'readFileSync').mockReturnValue('spied');
  expect(fs.readFileSync('/none', 'utf8')).toBe('spied');
  spy.mockRestore();
});
