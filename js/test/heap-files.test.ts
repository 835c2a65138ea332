/** Reading files of the host into the heap. The oracle is node:fs, on the same paths. */
import { deepEqual, equal, fail } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, mock, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Heap, heap, openSpace, Pool } from 'plait';
import { owned } from './owned.ts';

const folder = mkdtempSync(join(tmpdir(), 'plait-heap-files-'));
after(() => rmSync(folder, { recursive: true }));

const bytesOf = (size: number) => Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >>> 8)) & 255);

function codeOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return fail('nothing was thrown');
}

test('readFileSync has the bytes that node:fs has, and frees them once', () => {
  const before = heap.stats().liveBlocks;
  for (const size of [0, 1, 15, 4096, 65536, 100_001, 3_000_000]) {
    const path = join(folder, `${size}.bin`);
    writeFileSync(path, bytesOf(size));
    for (const form of [path, pathToFileURL(path), Buffer.from(path)]) {
      const view = heap.readFileSync(form);
      equal(view.length, size);
      deepEqual(Buffer.from(view), readFileSync(path));
      heap.free(view);
    }
  }
  equal(heap.stats().liveBlocks, before);
});

test('a file that does not report its size is read to its end', { skip: process.platform !== 'linux' }, () => {
  const view = heap.readFileSync('/proc/version');
  equal(Buffer.from(view).toString(), readFileSync('/proc/version', 'utf8'));
  heap.free(view);
  const long = heap.readFileSync('/proc/kallsyms'); // longer than the block that it begins with
  equal(
    Buffer.from(long).toString('latin1').split('\n').length,
    readFileSync('/proc/kallsyms', 'latin1').split('\n').length,
  );
  heap.free(long);
});

test('a file that cannot be read causes the error of node:fs, and leaves no block and no open file', () => {
  const files = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0);
  const before = { blocks: heap.stats().liveBlocks, files: files() };
  const none = join(folder, 'none');
  equal(
    codeOf(() => heap.readFileSync(none)),
    codeOf(() => readFileSync(none)),
  );
  equal(
    codeOf(() => heap.readFileSync(folder)),
    codeOf(() => readFileSync(folder)),
  );
  const large = join(folder, 'large');
  writeFileSync(large, bytesOf(5_000_000));
  const space = openSpace({ maximum: 4 * 2 ** 20 });
  const small = new Heap(() => space);
  const blocks = small.stats().liveBlocks;
  equal(
    codeOf(() => small.readFileSync(large)),
    'ERR_PLAIT_OUT_OF_MEMORY',
  );
  equal(small.stats().liveBlocks, blocks);
  deepEqual({ blocks: heap.stats().liveBlocks, files: files() }, before);
});

test('a file of more than 2 GiB is read in parts that Node can take', () => {
  const size = 2 ** 31 + 10;
  const path = join(folder, 'huge');
  writeFileSync(path, '');
  const most = 2 ** 31 - 1;
  // Nobody writes so much for a test: the file only says that it is so large.
  const stat = mock.method(fs, 'fstatSync', () => ({ size }));
  const read = mock.method(fs, 'readSync', (_file: number, _to: Uint8Array, _at: number, length: number) => {
    if (length > most) throw new RangeError(`a read of ${length} bytes`);
    return length;
  });
  const view = heap.readFileSync(path);
  stat.mock.restore();
  read.mock.restore();
  equal(view.length, size);
  heap.free(view);
});

test('a task is given the bytes', async (t) => {
  const path = join(folder, 'given');
  writeFileSync(path, bytesOf(70_000));
  await using pool = owned(
    t,
    new Pool(new URL('../../js/test/fixtures/node-tasks.js', import.meta.url), { threads: 1 }),
  );
  const digest = await pool.run(heap.readFileSync(path), { name: 'sha256', give: true });
  equal(digest, createHash('sha256').update(bytesOf(70_000)).digest('hex'));
});
