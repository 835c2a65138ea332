/**
 * Copies between shared and private memory, compared with a loop: every way to copy, and the bytes around the target.
 *
 * The alignment of the bytes, their number and the host's Buffer determine how they are copied. A bundle of the modules
 * that is imported under another name looks up the Buffer again.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';

type Copy = typeof import('../../dist/value/copy.js');
type FreshCopy = Copy & Pick<typeof import('../../dist/core/host-buffer.js'), 'nodeBuffer'>;

const { outputFiles } = await build({
  stdin: {
    contents: "export * from './value/copy.js'; export { nodeBuffer } from './core/host-buffer.js';",
    resolveDir: fileURLToPath(new URL('../../dist', import.meta.url)),
  },
  bundle: true,
  format: 'esm',
  write: false,
});
const source = `data:text/javascript,${encodeURIComponent(outputFiles[0]!.text)}`;

/** The modules, as they are evaluated with the globals of now. */
async function freshCopy(name: string): Promise<FreshCopy> {
  return (await import(`${source}//${encodeURIComponent(name)}`)) as FreshCopy;
}

const MOST = 2 ** 20;
const SIZES = [0, 1, 7, 63, 64, 2047, 2048, 2051, 4095, 4096, 65_537, 2 ** 19 - 1, 2 ** 19, 2 ** 19 + 3];
const OFFSETS = [0, 1, 7, 8, 13];
const MARGIN = 32;

/** Bytes that differ from their neighbours, so that none can stand for another. */
function pattern(size: number, first: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = first;
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}

const SOURCE = pattern(MOST + MARGIN, 1);
const BEFORE = pattern(MOST + MARGIN, 2);

function memoryOf(contents: Uint8Array, shared: boolean): Uint8Array {
  const buffer = shared ? new SharedArrayBuffer(contents.length) : new ArrayBuffer(contents.length);
  const memory = new Uint8Array(buffer);
  for (let i = 0; i < contents.length; i++) memory[i] = contents[i]!;
  return memory;
}

function checkCopies({ copyBytes, privateCopy }: Copy): void {
  for (const shared of [true, false]) {
    const from = memoryOf(SOURCE, !shared);
    const to = memoryOf(BEFORE, shared);
    for (const size of SIZES) {
      for (const at of OFFSETS) {
        const source = from.subarray(at, at + size);
        for (const target of OFFSETS) {
          // Askew by the view, by the place in it, or by both.
          copyBytes(to.subarray(target % 3), target - (target % 3), source);
          const expected = Buffer.from(BEFORE);
          for (let i = 0; i < size; i++) expected[target + i] = SOURCE[at + i]!;
          assert.equal(expected.compare(to), 0, `${size} bytes from ${at} to ${target}`);
          to.subarray(target, target + size).set(BEFORE.subarray(target, target + size));
        }
        const copy = privateCopy(source);
        assert.equal(Buffer.compare(copy, SOURCE.subarray(at, at + size)), 0, `${size} bytes from ${at}`);
        assert.equal(Object.getPrototypeOf(copy), Uint8Array.prototype);
        assert.equal(Object.getPrototypeOf(copy.buffer), ArrayBuffer.prototype);
        assert.deepEqual([copy.byteOffset, copy.buffer.byteLength], [0, size]);
        copy.fill(0);
        assert.equal(Buffer.compare(source, SOURCE.subarray(at, at + size)), 0, 'the copy is no view');
      }
    }
  }
}

test("with the host's Buffer", async () => {
  const copy = await freshCopy('own');
  assert.equal(copy.nodeBuffer, Buffer);
  checkCopies(copy);
});

for (const [name, stand] of [
  ['without a Buffer', undefined],
  ['with a Buffer that a bundler has put there', class extends Uint8Array {}],
] as const) {
  test(name, async () => {
    const own = globalThis.Buffer;
    Object.assign(globalThis, { Buffer: stand });
    let copy: FreshCopy;
    try {
      copy = await freshCopy(name);
    } finally {
      Object.assign(globalThis, { Buffer: own });
    }
    assert.equal(copy.nodeBuffer, undefined);
    checkCopies(copy);
  });
}

test('with the Buffer of another realm', async () => {
  const own = globalThis.Buffer;
  class Foreign extends Buffer {
    static override allocUnsafeSlow = runInNewContext(
      '(size) => new Uint8Array(size)',
    ) as typeof Buffer.allocUnsafeSlow;
  }
  Object.assign(globalThis, { Buffer: Foreign });
  let copy: FreshCopy;
  try {
    copy = await freshCopy('realm');
  } finally {
    Object.assign(globalThis, { Buffer: own });
  }
  assert.equal(copy.nodeBuffer, Foreign);
  checkCopies(copy);
});

test('a function of the program that takes the place of fill is not called', async () => {
  const { copyBytes }: Copy = await import('../../dist/value/copy.js');
  const { fill } = Buffer.prototype;
  Buffer.prototype.fill = () => assert.fail('it was called');
  try {
    const target = new Uint8Array(MOST);
    copyBytes(target, 0, SOURCE.subarray(0, MOST));
    assert.equal(Buffer.compare(target, SOURCE.subarray(0, MOST)), 0);
  } finally {
    Buffer.prototype.fill = fill;
  }
});
