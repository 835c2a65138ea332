/** Small programs of WASI, for tests that need no compiler: their instructions, and modules of them. */
import assert from 'node:assert/strict';

export const I32 = 0x7f;
export const I64 = 0x7e;
/** The functions of preview1 that the programs here call: their parameters. */
export const CALLS: Record<string, number[]> = {
  proc_exit: [I32],
  args_sizes_get: [I32, I32],
  environ_sizes_get: [I32, I32],
  fd_write: [I32, I32, I32, I32],
  fd_read: [I32, I32, I32, I32],
  fd_close: [I32],
  fd_prestat_get: [I32, I32],
  fd_prestat_dir_name: [I32, I32, I32],
  random_get: [I32, I32],
  clock_time_get: [I32, I64, I32],
  path_open: [I32, I32, I32, I32, I32, I64, I64, I32, I32],
};
const NAMES = Object.keys(CALLS);
/** Number of the program's own function. */
export const LAST: number = NAMES.length;

const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
const list = (items: number[][]): number[] => [items.length, ...items.flat()];
function section(id: number, bytes: number[]): number[] {
  assert.ok(bytes.length < 2 ** 14);
  return [id, (bytes.length & 127) | 128, bytes.length >> 7, ...bytes];
}

/** A program with one page of memory, whose `_start`, or other export, consists of these instructions. */
export function moduleBytes(body: number[], name = '_start'): Uint8Array<ArrayBuffer> {
  const types = NAMES.map((call) => [
    0x60,
    ...list((CALLS[call] as number[]).map((type) => [type])),
    ...(call === 'proc_exit' ? [0] : [1, I32]),
  ]);
  const imports = NAMES.map((call, index) => [...text('wasi_snapshot_preview1'), ...text(call), 0, index]);
  const code = [0, ...body, 0x0b];
  const bytes = [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([...types, [0x60, 0, 0]])),
    ...section(2, list(imports)),
    ...section(3, list([[LAST]])),
    ...section(5, [1, 0, 1]),
    ...section(
      7,
      list([
        [...text('memory'), 2, 0],
        [...text(name), 0, LAST],
      ]),
    ),
    ...section(10, list([[(code.length & 127) | 128, code.length >> 7, ...code]])),
  ];
  return Uint8Array.from(bytes);
}

export function moduleOf(body: number[], name?: string): WebAssembly.Module {
  return new WebAssembly.Module(moduleBytes(body, name));
}

export const constant = (value: number): number[] => {
  const bytes = [0x41];
  for (let rest = value | 0; ; rest >>= 7) {
    const last = (rest >= -64 && rest < 64) as boolean;
    bytes.push((rest & 127) | (last ? 0 : 128));
    if (last) return bytes;
  }
};
export const call = (name: string): number[] => [0x10, NAMES.indexOf(name)];
const LOAD = [0x28, 2, 0];
export const DROP = 0x1a;

/** Programs, and how each ends. */
export const PROGRAMS: Record<string, number[]> = {
  returns: [],
  'exits with 7': [...constant(7), ...call('proc_exit')],
  'exits with the number of its arguments': [
    ...[...constant(0), ...constant(4), ...call('args_sizes_get'), DROP],
    ...[...constant(0), ...LOAD, ...call('proc_exit')],
  ],
  'exits with the bytes of its environment': [
    ...[...constant(0), ...constant(4), ...call('environ_sizes_get'), DROP],
    ...[...constant(4), ...LOAD, ...call('proc_exit')],
  ],
  traps: [0x00],
  'calls itself for ever': [0x10, LAST],
  'asks for random bytes behind its memory': [
    ...[...constant(65_530), ...constant(100), ...call('random_get'), ...call('proc_exit')],
  ],
  'closes what is not open': [...constant(99), ...call('fd_close'), ...call('proc_exit')],
  'asks for a directory that it was not given': [
    ...[...constant(9), ...constant(0), ...call('fd_prestat_get'), ...call('proc_exit')],
  ],
};

/** Opens (and creates) the file `f` in its directory 3, writes its memory there, and ends as `rest` says. */
export function writer(rest: number[]): number[] {
  const store = (at: number, value: number): number[] => [...constant(at), ...constant(value), 0x36, 2, 0];
  const wide = (value: number): number[] => [0x42, ...constant(value).slice(1)];
  return [
    ...store(100, 'f'.charCodeAt(0)),
    ...[...constant(3), ...constant(0), ...constant(100), ...constant(1), ...constant(1), ...wide(64 + 2), ...wide(0)],
    ...[...constant(0), ...constant(8), ...call('path_open'), DROP],
    ...[...store(16, 100), ...store(20, 1)],
    ...[...constant(8), ...LOAD, ...constant(16), ...constant(1), ...constant(24), ...call('fd_write'), DROP],
    ...rest,
  ];
}
