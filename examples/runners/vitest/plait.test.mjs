import { PlaitError, Pool } from 'plait';
import fs from 'plait/fs';
import { afterAll, beforeAll, expect, test } from 'vitest';

let pool;

beforeAll(() => {
  pool = new Pool(new URL('../work.cjs', import.meta.url), { threads: 2 });
});

afterAll(() => pool.close());

test('a task', async () => {
  expect(await pool.run(100, { name: 'countPrimes' })).toBe(25);
});

test('a file', async () => {
  fs.writeFileSync('/a', 'b');
  expect(await pool.run('/a', { name: 'readBack' })).toBe('b');
  expect((await fs.promises.stat('/a')).size).toBe(1);
});

test('errors keep their class', async () => {
  const error = await pool.run('too far', { name: 'fail' }).catch((reason) => reason);
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({ message: 'too far', cause: { path: ['a', 1] } });
  await expect(pool.run(0, { name: 'failOwn' })).rejects.toThrow(PlaitError);
});
