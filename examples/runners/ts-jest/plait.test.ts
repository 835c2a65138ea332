import { join } from 'node:path';
import { PlaitError, Pool } from 'plait';
import fs, { writeFileSync } from 'plait/fs';

interface Work {
  countPrimes(limit: number): number;
  readBack(path: string): string;
}

test('a task, a file and an error, with types', async () => {
  const pool = new Pool(join(__dirname, '../work.cjs'), { threads: 1 });
  try {
    const work = pool.proxy<Work>();
    const count: number = await work.countPrimes(100);
    expect(count).toBe(25);
    writeFileSync('/a', 'b');
    const { size } = await fs.promises.stat('/a');
    expect(Number(size)).toBe(1);
    expect(await work.readBack('/a')).toBe('b');
    const error: unknown = await pool.run(0, { name: 'failOwn' }).catch((reason: unknown) => reason);
    expect(error instanceof PlaitError && error.code).toBe('ERR_PLAIT_UNSUPPORTED');
  } finally {
    await pool.close();
  }
});
