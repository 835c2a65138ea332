const { join } = require('node:path');
const { Pool, PlaitError, heap, isSupported, commonSpace } = require('plait');
const { fs } = require('plait/fs');

const work = join(__dirname, '..', 'work.cjs');
let pool;

beforeAll(() => {
  pool = new Pool(work, { threads: 2 });
});

afterAll(() => pool.close());

test('a task', async () => {
  expect(isSupported()).toBe(true);
  expect(await pool.run(100, { name: 'countPrimes' })).toBe(25);
  const counts = [];
  for await (const count of pool.map([1000, 10_000], { name: 'countPrimes' })) counts.push(count);
  expect(counts).toEqual([168, 1229]);
  expect(pool.runSync(100, { name: 'countPrimes' })).toBe(25);
});

test('a task that asks for more, and tells of it', async () => {
  const told = [];
  const counts = await pool.run([10, 100], { name: 'more', onProgress: (value) => told.push(value) });
  expect(counts).toEqual([4, 25]);
  expect(told).toEqual(['half']);
});

test('a file', async () => {
  expect(fs.readdirSync('/')).toEqual([]);
  fs.writeFileSync('/note.txt', 'grüße');
  fs.writeFileSync('/bytes', Buffer.from([1, 2, 3]));
  expect(await pool.run('/note.txt', { name: 'readBack' })).toBe('grüße');
  expect((await fs.promises.stat('/note.txt')).size).toBe(7);
  expect([...fs.readFileSync('/bytes')]).toEqual([1, 2, 3]);
  expect(() => fs.readFileSync('/none')).toThrow(Error);
  expect(() => fs.readFileSync('/none')).toThrow('ENOENT');
  expect(fs.readdirSync('/')).toContain('note.txt');
});

test('errors keep their class', async () => {
  const error = await pool.run('too far', { name: 'fail' }).catch((reason) => reason);
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({ message: 'too far', cause: { path: ['a', 1] } });
  await expect(pool.run(0, { name: 'failOwn' })).rejects.toThrow(PlaitError);
  await expect(pool.run(0, { name: 'nothing' })).rejects.toMatchObject({ code: 'ERR_PLAIT_NO_SUCH_EXPORT' });
  await expect(pool.run(() => {})).rejects.toMatchObject({ code: 'ERR_PLAIT_CANNOT_SEND' });
});

test('values of the classes that a test file has', async () => {
  const values = [
    { a: [1, 'b', null, undefined, 2n, { c: new Date(7) }] },
    new Map([[{ k: 1 }, new Set([1, 'x'])]]),
    new Uint8Array([1, 2, 3]),
    new Float64Array([0.5]),
    new ArrayBuffer(3),
    /x/gi,
    new TypeError('t'),
    'ü'.repeat(70_000),
  ];
  for (const value of values) {
    const back = await pool.run(value, { name: 'same' });
    expect(back).toEqual(value);
    expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(value));
  }
  const large = new Uint8Array(1 << 20).fill(7); // which Jest takes seconds to compare
  expect(Buffer.compare(await pool.run(large, { name: 'same' }), large)).toBe(0);
  expect(await pool.run(Buffer.from('abc'), { name: 'same' })).toEqual(new Uint8Array([97, 98, 99]));
  expect(await pool.run(process.memoryUsage(), { name: 'same' })).toHaveProperty('rss');
});

test('the heap', async () => {
  const view = heap.bytes(4);
  view.set([1, 2, 3, 4]);
  expect([...(await pool.run(view, { name: 'same', give: true }))]).toEqual([1, 2, 3, 4]);
  commonSpace().check();
});

test("Jest's own clock does not stop results", async () => {
  jest.useFakeTimers();
  try {
    expect(await pool.run(100, { name: 'countPrimes' })).toBe(25);
  } finally {
    jest.useRealTimers();
  }
});

test('modules that are loaded once more are the same library', () => {
  jest.resetModules();
  const again = require('plait');
  expect(again.Pool).toBe(Pool);
  expect(again.PlaitError).toBe(PlaitError);
  expect(require('plait/fs').fs.readFileSync('/note.txt', 'utf8')).toBe('grüße');
});
