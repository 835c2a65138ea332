/**
 * The tar format. Written: POSIX ustar, with a pax header before an entry that does not fit. Read: those, the older
 * form without a magic, and GNU's long names and numbers.
 *
 * Names are byte strings (one character for each byte), as they are in the archive and in directories.
 */

import { PlaitError } from '../core/errors.ts';
import { TextDecoder } from '../core/host-text.ts';
import { FS_PATH_MAX } from '../core/layout.generated.ts';

export const BLOCK = 512;
const LARGEST_OCTAL = 8 ** 11 - 1;
const LARGEST_ID = 8 ** 7 - 1;

/** The type flags of entries that are written. */
export const TarType = { FILE: '0', HARD_LINK: '1', SYMLINK: '2', DIRECTORY: '5' } as const;

/** An entry, as its headers describe it. Times are nanoseconds since 1970. */
export interface TarEntry {
  name: string;
  type: string;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtime: bigint;
  linkName: string;
}

export function tarError(message: string): PlaitError {
  return new PlaitError('ERR_PLAIT_TAR', message);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function isUtf8(text: string): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(text));
    return true;
  } catch {
    return false;
  }
}

/** How a block of data is filled up. */
export function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

// ---- writing ----

/** The two parts of a name in a ustar header; undefined: it does not fit. */
function split(name: string): { prefix: string; rest: string } | undefined {
  if (name.length <= 100) return { prefix: '', rest: name };
  for (let at = name.lastIndexOf('/', 155); at > 0; at = name.lastIndexOf('/', at - 1)) {
    const rest = name.slice(at + 1);
    if (rest.length > 100) return undefined;
    if (rest !== '') return { prefix: name.slice(0, at), rest };
  }
  return undefined;
}

function header(entry: TarEntry, prefix: string): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string): void => {
    for (let i = 0; i < text.length; i++) block[at + i] = text.charCodeAt(i);
  };
  const octal = (at: number, digits: number, value: number): void => put(at, value.toString(8).padStart(digits, '0'));
  put(0, entry.name.slice(0, 100));
  octal(100, 7, entry.mode);
  octal(108, 7, entry.uid);
  octal(116, 7, entry.gid);
  octal(124, 11, entry.size);
  octal(136, 11, Number(entry.mtime / 1000000000n));
  put(148, '        ');
  put(156, entry.type);
  put(157, entry.linkName.slice(0, 100));
  put(257, 'ustar\x0000');
  octal(329, 7, 0);
  octal(337, 7, 0);
  put(345, prefix);
  put(148, `${checksums(block).unsigned.toString(8).padStart(6, '0')}\0 `);
  return block;
}

function checksums(block: Uint8Array): { unsigned: number; signed: number } {
  let [unsigned, signed] = [0, 0];
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= 148 && i < 156 ? 32 : (block[i] as number);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  return { unsigned, signed };
}

/** A pax record `length key=value\n`, where the length includes its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (`${length}${rest}`.length !== length) length = `${length}${rest}`.length;
  return `${length}${rest}`;
}

function decimalTime(time: bigint): string {
  const negative = time < 0n;
  const [seconds, rest] = [(negative ? -time : time) / 1000000000n, (negative ? -time : time) % 1000000000n];
  const fraction = rest === 0n ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`;
  return `${negative ? '-' : ''}${seconds}${fraction}`;
}

/** Encodes the headers of an entry. */
export function encodeEntry(entry: TarEntry): Uint8Array<ArrayBuffer> {
  const parts = split(entry.name);
  const plain = { ...entry, name: parts?.rest ?? entry.name };
  const records: string[] = [];
  const add = (key: string, value: string): void => {
    if (!isUtf8(value) && records.length === 0) records.push(record('hdrcharset', 'BINARY'));
    records.push(record(key, value));
  };
  if (parts === undefined) add('path', entry.name);
  if (entry.linkName.length > 100) add('linkpath', entry.linkName);
  if (entry.mtime % 1000000000n !== 0n || entry.mtime < 0n || entry.mtime / 1000000000n > LARGEST_OCTAL) {
    add('mtime', decimalTime(entry.mtime));
    if (entry.mtime < 0n || entry.mtime / 1000000000n > LARGEST_OCTAL) plain.mtime = 0n;
  }
  for (const [key, most] of [
    ['size', LARGEST_OCTAL],
    ['uid', LARGEST_ID],
    ['gid', LARGEST_ID],
  ] as const) {
    if (entry[key] <= most) continue;
    add(key, String(entry[key]));
    plain[key] = 0;
  }
  const own = header(plain, parts?.prefix ?? '');
  if (records.length === 0) return own;
  const text = bytesOf(records.join(''));
  const pax = header(
    {
      ...plain,
      name: 'PaxHeaders/entry',
      type: 'x',
      mode: 0o644,
      uid: 0,
      gid: 0,
      size: text.length,
      linkName: '',
      mtime: 0n,
    },
    '',
  );
  const all = new Uint8Array(BLOCK + padded(text.length) + BLOCK);
  all.set(pax);
  all.set(text, BLOCK);
  all.set(own, all.length - BLOCK);
  return all;
}

// ---- reading ----

function text(block: Uint8Array, at: number, length: number): string {
  const end = block.indexOf(0, at);
  return String.fromCharCode(...block.subarray(at, end < 0 || end > at + length ? at + length : end));
}

/** Decodes a number: octal digits, or binary if the high bit is set. */
function number(block: Uint8Array, at: number, length: number, what: string): number {
  const first = block[at] as number;
  if (first === 0x80 || first === 0xff) {
    let value = first === 0xff ? -1n : 0n;
    for (let i = 1; i < length; i++) value = value * 256n + BigInt(block[at + i] as number);
    if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < -BigInt(Number.MAX_SAFE_INTEGER))
      throw tarError(`its ${what} is too large`);
    return Number(value);
  }
  const digits = text(block, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw tarError(`its ${what} is no number`);
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** Whether the archive ends here. */
export function isEnd(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0);
}

/** Decodes one header by itself. */
export function decodeHeader(block: Uint8Array): TarEntry {
  const sum = number(block, 148, 8, 'checksum');
  const { unsigned, signed } = checksums(block);
  if (sum !== unsigned && sum !== signed)
    throw tarError('its header has a wrong checksum: this is no tar, or a damaged one');
  const posix = text(block, 257, 6) === 'ustar' && block[262] === 0;
  const prefix = posix ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  const size = number(block, 124, 12, 'size');
  if (size < 0) throw tarError('its size is negative');
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156] as number),
    mode: number(block, 100, 8, 'mode') & 0o7777,
    uid: number(block, 108, 8, 'owner'),
    gid: number(block, 116, 8, 'group'),
    size,
    mtime: BigInt(number(block, 136, 12, 'time')) * 1000000000n,
    linkName: text(block, 157, 100),
  };
}

/** The pax records that are used; others are discarded. */
const KEYS = ['path', 'linkpath', 'size', 'uid', 'gid', 'mtime'];
const SPARSE = 'GNU.sparse.';

/** The known records of a pax header. They are so few that each entry can check all of them. */
export function decodeRecords(bytes: Uint8Array): Map<string, string> {
  let all = '';
  for (const byte of bytes) all += String.fromCharCode(byte);
  const records = new Map<string, string>();
  for (let at = 0; at < all.length && all[at] !== '\0'; ) {
    const [, digits] = /^(\d{1,8}) /.exec(all.slice(at, at + 9)) ?? [];
    const length = Number(digits);
    const whole = all.slice(at, at + length);
    const cut = whole.indexOf('=');
    if (
      digits === undefined ||
      length < 5 ||
      whole.length !== length ||
      cut < digits.length + 2 ||
      !whole.endsWith('\n')
    ) {
      throw tarError('its pax header is damaged');
    }
    const key = whole.slice(digits.length + 1, cut);
    if (KEYS.includes(key)) records.set(key, whole.slice(cut + 1, -1));
    else if (key.startsWith(SPARSE)) records.set(SPARSE, '');
    at += length;
  }
  return records;
}

function paxNumber(value: string, what: string): number {
  if (!/^-?\d{1,16}$/.test(value) || !Number.isSafeInteger(Number(value))) throw tarError(`its ${what} is no number`);
  return Number(value);
}

function paxTime(value: string): bigint {
  const [, sign, seconds, fraction = ''] = /^(-?)(\d{1,12})(?:\.(\d*))?$/.exec(value) ?? [];
  if (seconds === undefined) throw tarError('its time is no number');
  const whole = BigInt(seconds) * 1000000000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -whole : whole;
}

/** The entry, changed by its pax records. */
export function withRecords(entry: TarEntry, records: Map<string, string>): TarEntry {
  const now = { ...entry };
  for (const [key, value] of records) {
    if (key === SPARSE) throw tarError('it is sparse: write the archive without --sparse');
    if (value === '') continue;
    if (key === 'path') now.name = value;
    else if (key === 'linkpath') now.linkName = value;
    else if (key === 'size') now.size = paxNumber(value, 'size');
    else if (key === 'uid' || key === 'gid') now[key] = paxNumber(value, key);
    else if (key === 'mtime') now.mtime = paxTime(value);
  }
  if (now.size < 0) throw tarError('its size is negative');
  if (now.name.length >= FS_PATH_MAX) throw tarError(`its name has ${now.name.length} bytes`);
  if (now.linkName.length >= FS_PATH_MAX) throw tarError(`it is a link to a name of ${now.linkName.length} bytes`);
  return now;
}
