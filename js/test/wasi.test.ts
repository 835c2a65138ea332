/**
 * plait/wasi beside node:wasi: options, misuse, ends. What programs do with files is compared by lib/test/run.js, with
 * native builds of the same programs.
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { WASI as NodeWASI } from 'node:wasi';
import { openSpace, type Space } from 'plait';
import { createFs } from 'plait/fs';
import { WASI } from 'plait/wasi';
import { CALLS, call, constant, DROP, I64, LAST, moduleOf, PROGRAMS, writer } from './wasi-modules.ts';

const OPTIONS = { version: 'preview1', args: ['program', 'one', ''], env: { A: 'b', LONG: 'x'.repeat(20) } } as const;
type AnyWASI = Pick<WASI, 'start' | 'initialize' | 'getImportObject'>;
const CLASSES = [NodeWASI, WASI] as unknown as [new (options: unknown) => AnyWASI, new (options: unknown) => AnyWASI];

function instanceOf(wasi: AnyWASI, module: WebAssembly.Module): WebAssembly.Instance {
  return new WebAssembly.Instance(module, wasi.getImportObject() as unknown as WebAssembly.Imports);
}

/** What comes of an action: its value, or the class and the code of what it throws. */
function outcome(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    const { name, code } = error as { name: string; code?: string };
    return [name, code];
  }
}

test('programs end as in node:wasi', () => {
  for (const [name, body] of Object.entries(PROGRAMS)) {
    const module = moduleOf(body);
    const [expected, own] = CLASSES.map((Class) =>
      outcome(() => {
        const wasi = new Class(OPTIONS);
        return wasi.start(instanceOf(wasi, module));
      }),
    );
    // Behind the memory, node:wasi reports an overflow; other runtimes, and the WASI test suite, a fault.
    assert.deepEqual(own, expected === 61 ? 21 : expected, name);
  }
});

test('options that are wrong are refused as in node:wasi', () => {
  for (const options of [
    undefined,
    null,
    {},
    { version: 1 },
    { version: 'preview9' },
    { ...OPTIONS, args: 'text' },
    { ...OPTIONS, env: 'text' },
    { ...OPTIONS, preopens: 'text' },
    { ...OPTIONS, returnOnExit: 1 },
    { ...OPTIONS, stdin: 'text' },
    { ...OPTIONS, stdout: -1 },
    { ...OPTIONS, stderr: 1.5 },
  ]) {
    const [expected, own] = CLASSES.map((Class) => outcome(() => new Class(options) && 'made'));
    assert.deepEqual(own, expected, JSON.stringify(options));
  }
  assert.throws(() => new WASI({ version: 'preview1', args: ['a\0b'] }), { code: 'ERR_INVALID_ARG_VALUE' });
  assert.throws(() => new WASI({ version: 'preview1', preopens: { '/': '/none' } }), { code: 'ENOENT', path: '/none' });
});

test('misuse is refused as in node:wasi', () => {
  const command = moduleOf([]);
  const reactor = moduleOf([], '_initialize');
  for (const use of [
    (wasi: AnyWASI) => wasi.start(instanceOf(wasi, reactor)),
    (wasi: AnyWASI) => wasi.initialize(instanceOf(wasi, command)),
    (wasi: AnyWASI) => wasi.initialize(instanceOf(wasi, reactor)),
    (wasi: AnyWASI) => wasi.start({} as WebAssembly.Instance),
    (wasi: AnyWASI) => wasi.start(null as unknown as WebAssembly.Instance),
    (wasi: AnyWASI) => {
      wasi.start(instanceOf(wasi, command));
      wasi.start(instanceOf(wasi, command));
    },
    (wasi: AnyWASI) => {
      wasi.initialize(instanceOf(wasi, reactor));
      wasi.start(instanceOf(wasi, command));
    },
  ]) {
    const [expected, own] = CLASSES.map((Class) => outcome(() => use(new Class(OPTIONS))));
    assert.deepEqual(own, expected, String(use));
  }
});

// ---- what a program leaves ----

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-wasi-`);
after(() => nodeFs.rmSync(scratch, { recursive: true }));

function privateSpace(): { space: Space; fs: ReturnType<typeof createFs> } {
  const space = openSpace({ maximum: 2 ** 28 });
  return { space, fs: createFs(() => space) };
}

test('whatever ends a program, its files are closed, and nothing of it stays', () => {
  const { space, fs } = privateSpace();
  fs.mkdirSync('/d');
  for (const rest of [[], [...constant(3), ...call('proc_exit')], [0x00], [0x10, LAST]]) {
    const module = moduleOf(writer(rest));
    const before = space.core.plait_heap_alloc(1); // the first program makes the heap's pages
    for (let i = 0; i < 3; i++) {
      const wasi = new WASI({ version: 'preview1', preopens: { '/': '/d' }, space });
      outcome(() => wasi.start(instanceOf(wasi, module)));
      assert.match(fs.readFileSync('/d/f', 'utf8'), /^f+$/);
      fs.rmSync('/d/f');
    }
    space.core.plait_heap_free(before);
  }
  fs.mount('/d', { type: 'host', directory: scratch });
  const wasi = new WASI({ version: 'preview1', preopens: { '/': '/d' }, space });
  assert.throws(() => fs.unmount('/d'), { code: 'EBUSY' });
  wasi.start(instanceOf(wasi, moduleOf(writer([]))));
  assert.equal(nodeFs.readFileSync(`${scratch}/f`, 'utf8'), 'f');
  fs.unmount('/d');
  space.check(true);
});

test('a thousand programs, one after the other, need no more slots than one', () => {
  const { space } = privateSpace();
  const module = moduleOf(PROGRAMS['exits with 7'] as number[]);
  for (let i = 0; i < 1000; i++) {
    const wasi = new WASI({ version: 'preview1', space });
    assert.equal(wasi.start(instanceOf(wasi, module)), 7);
  }
  space.check(true);
});

test('programs that were never started are released with their instance', { timeout: 60_000 }, async () => {
  const { space } = privateSpace();
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  for (let i = 0; i < 40; i++) {
    for (let k = 0; k < 10; k++) new WASI({ version: 'preview1', space });
    collect();
    await setImmediate();
    await setImmediate();
  }
  space.check();
});

test('calls after the end do nothing', () => {
  const { space } = privateSpace();
  const wasi = new WASI({ version: 'preview1', space });
  const instance = instanceOf(wasi, moduleOf([]));
  wasi.start(instance);
  const calls = wasi.wasiImport as unknown as Record<string, (...args: (number | bigint)[]) => unknown>;
  const next = new WASI({ version: 'preview1', space, preopens: { '/': '/' } }); // has the same slots
  for (const [name, parameters] of Object.entries(CALLS)) {
    if (name === 'proc_exit') continue;
    assert.equal(calls[name]?.(...parameters.map((type) => (type === I64 ? 0n : 3))), 8, name);
  }
  assert.throws(() => calls.proc_exit?.(0), WebAssembly.RuntimeError);
  assert.equal((next.wasiImport as typeof calls).fd_close?.(3), 0, 'the next program has its directory');
  space.check();
});

test('a program that uses up the engine’s stack again and again harms nothing', () => {
  const { space, fs } = privateSpace();
  fs.mkdirSync('/d');
  // Its calls are at every depth, so at the last ones the stack ends in the core.
  const module = moduleOf([...constant(9), ...constant(0), ...call('fd_prestat_get'), DROP, 0x10, LAST], 'deep');
  const wasi = new WASI({ version: 'preview1', space, preopens: { '/': '/d' } });
  const instance = instanceOf(wasi, module);
  wasi.initialize(instance);
  for (let i = 0; i < 200; i++) assert.throws(() => (instance.exports.deep as () => void)(), RangeError);
  space.check();
});
