/**
 * Arguments: paths, descriptors, flags, modes, times and encodings, checked as Node checks them.
 */

import { host } from '../core/host.ts';
import { nodeBuffer } from '../core/host-buffer.ts';
import { TextDecoder, TextEncoder } from '../core/host-text.ts';
import { isDate, isUint8Array, isUrl } from '../core/realms.ts';
import { codedError, outOfRange, wrongType, wrongValue } from './errors.ts';

/** A path, in the forms that Node accepts. */
export type PathLike = string | Uint8Array | URL;

/** How bytes become strings. `'buffer'`: they stay bytes. */
export type FsEncoding =
  | 'utf8'
  | 'utf-8'
  | 'ascii'
  | 'latin1'
  | 'binary'
  | 'base64'
  | 'base64url'
  | 'hex'
  | 'ucs2'
  | 'ucs-2'
  | 'utf16le'
  | 'utf-16le';

export type TimeLike = number | string | Date;

const SLAB = 65536;
const LARGEST_IN_SLAB = 8192;
let slab: ArrayBuffer | undefined;
let slabNext = SLAB;

/**
 * Private bytes with unspecified contents: a Buffer in Node. Small ones are cut from slabs, like Node's, but up to a
 * size that files often have. Like Node's, a slab cannot be transferred to another thread.
 */
export function newBytes(size: number): Uint8Array<ArrayBuffer> {
  if (nodeBuffer === undefined) return new Uint8Array(size);
  if (size > LARGEST_IN_SLAB || size < 1) return nodeBuffer.allocUnsafe(size);
  if (slab === undefined || slabNext + size > SLAB) {
    slab = new ArrayBuffer(SLAB);
    (host.builtin('node:worker_threads') as { markAsUntransferable(what: object): void }).markAsUntransferable(slab);
    slabNext = 0;
  }
  const bytes = nodeBuffer.from(slab, slabNext, size);
  slabNext = (slabNext + size + 7) & ~7;
  return bytes;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();
const PLAIN: Record<string, string> = {
  utf8: 'utf8',
  'utf-8': 'utf8',
  ascii: 'ascii',
  latin1: 'latin1',
  binary: 'latin1',
};

/** Whether this host can decode the encoding. */
export function isEncoding(name: unknown): boolean {
  if (typeof name !== 'string') return false;
  if (nodeBuffer !== undefined) return nodeBuffer.isEncoding(name);
  return Object.hasOwn(PLAIN, name.toLowerCase()) || /^(hex|base64|base64url|ucs-?2|utf-?16le)$/i.test(name);
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Decodes private bytes; in Node they are those of a Buffer. */
export function decode(bytes: Uint8Array, encoding: string): string {
  if (nodeBuffer !== undefined) return (bytes as unknown as { toString(encoding: string): string }).toString(encoding);
  switch (PLAIN[encoding.toLowerCase()] ?? encoding.toLowerCase().replace('-', '')) {
    case 'utf8':
      return decoder.decode(bytes);
    case 'hex':
      return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    case 'base64':
      return toBase64(bytes);
    case 'base64url':
      return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    case 'ucs2':
    case 'utf16le':
      return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(bytes);
    case 'ascii':
      return [...bytes].map((byte) => String.fromCharCode(byte & 127)).join('');
    default:
      return [...bytes].map((byte) => String.fromCharCode(byte)).join('');
  }
}

/** Encodes a string. */
export function encode(text: string, encoding = 'utf8'): Uint8Array {
  if (nodeBuffer !== undefined) return nodeBuffer.from(text, encoding);
  switch (PLAIN[encoding.toLowerCase()] ?? encoding.toLowerCase().replace('-', '')) {
    case 'utf8':
      return encoder.encode(text);
    case 'hex':
      return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    case 'base64':
    case 'base64url':
      return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    case 'ucs2':
    case 'utf16le':
      return Uint8Array.from({ length: text.length * 2 }, (_, i) => (text.charCodeAt(i >> 1) >> ((i & 1) * 8)) & 255);
    default:
      return Uint8Array.from(text, (char) => char.charCodeAt(0));
  }
}

/** The bytes of any view, or of a buffer. */
export function bytesOf(value: unknown, name: string, or = ''): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw wrongType(name, `${or}an instance of Buffer, TypedArray, or DataView`, value);
}

/** Data to be written, as bytes. */
export function dataBytes(data: unknown, encoding: string): Uint8Array {
  if (typeof data === 'string') return encode(data, encoding);
  if (ArrayBuffer.isView(data)) return bytesOf(data, 'data');
  throw wrongType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
}

const NO_NUL = 'must be a string, Uint8Array, or URL without null bytes';

/** Refuses a path with a null byte in it. */
export function nulInPath(name: string, value: unknown): TypeError {
  return wrongValue(name, NO_NUL, value);
}

/** A path as a string or bytes. */
export function pathOf(path: unknown, name = 'path'): string | Uint8Array {
  if (typeof path === 'string' || isUint8Array(path)) return path;
  if (isUrl(path)) return urlPath(path);
  throw wrongType(name, 'of type string or an instance of Buffer or URL', path);
}

function urlPath(url: URL): string {
  if (url.protocol !== 'file:') {
    throw codedError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  }
  if (url.hostname !== '') {
    const platform = (host.builtin('node:process') as NodeJS.Process | undefined)?.platform ?? 'browser';
    throw codedError(
      TypeError,
      'ERR_INVALID_FILE_URL_HOST',
      `File URL host must be "localhost" or empty on ${platform}`,
    );
  }
  if (/%2f/i.test(url.pathname)) {
    throw codedError(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  }
  return decodeURIComponent(url.pathname);
}

/** A path as a string, for messages and walks. */
export function pathText(path: string | Uint8Array): string {
  // What is no Unicode is not in the name that was looked for either.
  if (typeof path === 'string') return (path as { toWellFormed?(): string }).toWellFormed?.() ?? path;
  const copy = newBytes(path.length);
  copy.set(path);
  return decode(copy, 'utf8');
}

/** An absolute path without `.`, `..` and extra slashes. */
export function normalize(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** A path without trailing slashes, except for the root. Takes linear time, which a regular expression would not. */
export function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** The path of the directory that contains a path. */
export function parentOf(path: string): string {
  const end = withoutSlashes(path).lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

export function join(directory: string, name: string): string {
  return directory === '' ? name : directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}

const INT32_MAX = 2147483647;

/** Whether a number in place of a path can be a descriptor. */
export function isFd(path: unknown): path is number {
  return typeof path === 'number' && path === path >>> 0 && path <= INT32_MAX;
}

/** Checks a descriptor: an integer from 0 on. */
export function checkFd(fd: unknown): number {
  if (isFd(fd)) return fd;
  return checkInteger(fd, 'fd', 0, INT32_MAX);
}

/** Checks an integer in a range. */
export function checkInteger(value: unknown, name: string, least: number, most: number): number {
  if (typeof value !== 'number') throw wrongType(name, 'of type number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < least || value > most) throw outOfRange(name, `>= ${least} && <= ${most}`, value);
  return value;
}

/** Checks permission bits: a number, or a string of octal digits. */
export function modeOf(mode: unknown, fallback?: number): number {
  if (mode === undefined || mode === null) {
    if (fallback !== undefined) return fallback;
  } else if (typeof mode === 'string') {
    if (!/^[0-7]+$/.test(mode)) {
      throw wrongValue('mode', 'must be a 32-bit unsigned integer or an octal string', mode);
    }
    return checkInteger(Number.parseInt(mode, 8), 'mode', 0, 2 ** 32 - 1);
  }
  return checkInteger(mode, 'mode', 0, 2 ** 32 - 1);
}

const FLAGS: Record<string, number> = {
  r: 0,
  rs: 0o4010000,
  sr: 0o4010000,
  'r+': 2,
  'rs+': 2 | 0o4010000,
  'sr+': 2 | 0o4010000,
  w: 1 | 64 | 512,
  wx: 1 | 64 | 512 | 128,
  xw: 1 | 64 | 512 | 128,
  'w+': 2 | 64 | 512,
  'wx+': 2 | 64 | 512 | 128,
  'xw+': 2 | 64 | 512 | 128,
  a: 1 | 64 | 1024,
  ax: 1 | 64 | 1024 | 128,
  xa: 1 | 64 | 1024 | 128,
  as: 1 | 64 | 1024 | 0o4010000,
  sa: 1 | 64 | 1024 | 0o4010000,
  'a+': 2 | 64 | 1024,
  'ax+': 2 | 64 | 1024 | 128,
  'xa+': 2 | 64 | 1024 | 128,
  'as+': 2 | 64 | 1024 | 0o4010000,
  'sa+': 2 | 64 | 1024 | 0o4010000,
};

/** Checks open flags: a number, or one of Node's strings. */
export function flagsOf(flags: unknown, fallback = 0): number {
  if (typeof flags === 'string') {
    const number = FLAGS[flags];
    if (number === undefined || !Object.hasOwn(FLAGS, flags)) throw wrongValue('flags', 'is invalid', flags);
    return number;
  }
  if (flags === undefined || flags === null) return fallback;
  if (typeof flags !== 'number') throw wrongValue('flags', 'is invalid', flags);
  return checkInteger(flags, 'flags', -2147483648, INT32_MAX);
}

/** Checks an encoding; undefined means bytes. */
export function encodingOf(options: unknown): string | undefined {
  const { encoding } = optionsOf<{ encoding: string }>(options);
  return encoding === undefined || encoding === null || encoding === 'buffer' || (encoding as string) === ''
    ? undefined
    : encoding;
}

/** Options that may be given as an encoding, which is checked. */
export function optionsOf<Options>(options: unknown): Partial<Options> {
  if (options === undefined || options === null || typeof options === 'function') return {};
  if (typeof options !== 'string' && typeof options !== 'object') {
    throw wrongType('options', 'of type string or an instance of Object', options);
  }
  const object = (typeof options === 'string' ? { encoding: options } : options) as { encoding?: unknown };
  const { encoding } = object;
  if (encoding && encoding !== 'buffer' && !isEncoding(encoding)) {
    throw wrongValue('encoding', 'is invalid encoding', encoding);
  }
  const { signal } = object as { signal?: unknown };
  if (signal !== undefined && (typeof signal !== 'object' || signal === null || !('aborted' in signal))) {
    throw wrongType('options.signal', 'an instance of AbortSignal', signal);
  }
  return object as Partial<Options>;
}

/** Checks that options, if given, are an object, and checks its members. */
export function checkRemoveOptions(options: unknown): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw wrongType('options', 'of type object', options);
  }
  const { force, recursive, retryDelay = 0, maxRetries = 0 } = options as Record<string, unknown>;
  for (const [name, value] of Object.entries({ recursive, force })) {
    if (value !== undefined && typeof value !== 'boolean') throw wrongType(`options.${name}`, 'of type boolean', value);
  }
  checkInteger(retryDelay, 'options.retryDelay', 0, INT32_MAX);
  checkInteger(maxRetries, 'options.maxRetries', 0, 2 ** 32 - 1);
}

/** A resulting path in the requested encoding. */
export function encodedPath(path: string | Uint8Array, options: unknown): string | Uint8Array {
  const { encoding } = optionsOf<{ encoding: string }>(options);
  if (typeof path === 'string' && (!encoding || /^utf-?8$/i.test(encoding))) return path;
  const bytes = typeof path === 'string' ? encode(path) : path;
  return encoding === 'buffer' ? bytes : decode(bytes, encoding || 'utf8');
}

/** Converts bytes to a byte string, and back. */
export function byteString(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i] as number);
  return text;
}
export function fromByteString(text: string): Uint8Array<ArrayBuffer> {
  const bytes = newBytes(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Checks a time, in seconds since 1970. */
export function timeOf(time: unknown, name: string): number {
  if (typeof time === 'string' && Number.isFinite(+time)) return +time;
  if (typeof time === 'number' && Number.isFinite(time)) return time < 0 ? Date.now() / 1000 : time;
  if (isDate(time) && Number.isFinite(time.getTime())) return time.getTime() / 1000;
  throw wrongType(name, 'an instance of Date or a time in seconds', time);
}

/** Checks a position: a number or a bigint; -1 for none. */
export function positionOf(position: unknown): number {
  if (position === undefined || position === null || position === -1 || position === -1n) return -1;
  if (typeof position === 'bigint') {
    if (position < -1n || position > 2n ** 63n - 1n)
      throw outOfRange('position', `>= -1 && <= ${2n ** 63n - 1n}`, position);
    return Number(position);
  }
  if (typeof position !== 'number') throw wrongType('position', 'of type bigint or integer', position);
  return checkInteger(position, 'position', -1, Number.MAX_SAFE_INTEGER);
}

/** Position of a write; -1: the file position. As in Node, anything that is not a valid position means -1. */
export function writePosition(position: unknown): number {
  return Number.isSafeInteger(position) && (position as number) >= 0 ? (position as number) : -1;
}

/** Whether the error is one of the argument checks, which callers throw at once. */
export function isArgumentError(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === 'string' && /^ERR_/.test((error as { code: string }).code);
}
