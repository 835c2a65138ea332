/**
 * Errors like Node's: an Error with Node's message and `errno, code, syscall, path, dest`.
 */

import { Errno } from '../core/layout.generated.ts';

/** What a failed file operation throws, as `node:fs` does. */
export interface FsError extends Error {
  errno: number;
  code: string;
  syscall: string;
  path?: string;
  dest?: string;
}

const TEXTS: Record<string, string> = {
  EPERM: 'operation not permitted',
  ENOENT: 'no such file or directory',
  EIO: 'i/o error',
  ENXIO: 'no such device or address',
  EBADF: 'bad file descriptor',
  EAGAIN: 'resource temporarily unavailable',
  ENOMEM: 'not enough memory',
  EACCES: 'permission denied',
  EBUSY: 'resource busy or locked',
  EEXIST: 'file already exists',
  EXDEV: 'cross-device link not permitted',
  ENODEV: 'no such device',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  EINVAL: 'invalid argument',
  ENFILE: 'file table overflow',
  EMFILE: 'too many open files',
  ETXTBSY: 'text file is busy',
  EFBIG: 'file too large',
  ENOSPC: 'no space left on device',
  EROFS: 'read-only file system',
  EMLINK: 'too many links',
  ENAMETOOLONG: 'name too long',
  ENOLCK: 'no locks available',
  ENOTEMPTY: 'directory not empty',
  ELOOP: 'too many symbolic links encountered',
  ENOTSUP: 'operation not supported on socket',
  ESTALE: 'what was mounted is not there any more',
  EDQUOT: 'disk quota exceeded',
  ETIMEDOUT: 'a thread holds a lock of the file, makes no progress and is not known to have exited',
};

const NAMES = new Map(Object.entries(Errno).map(([name, number]) => [number as number, name]));

/** The error for `-number`, which the core returned for `syscall`. */
export function fsError(number: number, syscall: string, path?: string, dest?: string): FsError {
  const code = NAMES.get(-number) ?? 'EIO';
  let message = `${code}: ${TEXTS[code] ?? 'input/output error'}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message) as FsError;
  error.errno = number;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}

/** What Node's own checks throw: an error of `kind` with a code and Node's name for the message. */
export function codedError<Kind extends Error>(
  kind: new (message: string) => Kind,
  code: string,
  message: string,
): Kind & { code: string } {
  const error = Object.assign(new kind(message), { code });
  Object.defineProperty(error, 'toString', {
    value: () => `${error.name} [${code}]: ${message}`,
    enumerable: false,
    configurable: true,
  });
  return error;
}

function quote(value: string): string {
  return value.includes("'") ? JSON.stringify(value) : `'${value}'`;
}

function received(value: unknown): string {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === 'function') return `Received function ${value.name}`;
  if (typeof value === 'object') {
    const name = value.constructor?.name;
    return name ? `Received an instance of ${name}` : 'Received [Object: null prototype] {}';
  }
  let text = typeof value === 'string' ? quote(value) : typeof value === 'bigint' ? `${value}n` : String(value);
  if (text.length > 28) text = typeof value === 'string' ? `'${value.slice(0, 25)}...` : `${text.slice(0, 25)}...`;
  if (typeof value === 'string' && value.length > 25)
    text = `${quote(value.slice(0, 25))}...`.replace(/'\.\.\.$/, "'...");
  return `Received type ${typeof value} (${text})`;
}

/** Throws if the signal in the options is aborted. */
export function checkAbort(options: unknown): void {
  const { signal } = (typeof options === 'object' && options !== null ? options : {}) as { signal?: AbortSignal };
  if (signal?.aborted) throw abortError(signal);
}

/** The error that Node throws for an aborted signal. */
export function abortError({ reason }: AbortSignal): Error {
  return Object.assign(new Error('The operation was aborted', { cause: reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

/** ERR_INVALID_ARG_TYPE. `expected`: the words after "must be" in Node's message. */
export function wrongType(name: string, expected: string, value: unknown): TypeError & { code: string } {
  const what = name.includes('.') ? `"${name}" property` : `"${name}" argument`;
  return codedError(TypeError, 'ERR_INVALID_ARG_TYPE', `The ${what} must be ${expected}. ${received(value)}`);
}

/** ERR_INVALID_ARG_VALUE. */
export function wrongValue(name: string, reason: string, value: unknown): TypeError & { code: string } {
  const what = name.includes('.') ? 'property' : 'argument';
  const shown = typeof value === 'string' ? quote(value.replaceAll('\0', '\\x00')) : inspect(value);
  return codedError(TypeError, 'ERR_INVALID_ARG_VALUE', `The ${what} '${name}' ${reason}. Received ${shown}`);
}

function inspect(value: unknown): string {
  if (value instanceof Uint8Array) {
    const bytes = [...value.subarray(0, 50)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    return `<Buffer ${bytes}>`;
  }
  try {
    return String(value);
  } catch {
    return '[Object: null prototype] {}'; // what has no toString()
  }
}

/** ERR_OUT_OF_RANGE. */
export function outOfRange(name: string, range: string, value: unknown): RangeError & { code: string } {
  const text = typeof value === 'bigint' ? `${group(String(value))}n` : shownNumber(value);
  return codedError(
    RangeError,
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${range}. Received ${text}`,
  );
}

function shownNumber(value: unknown): string {
  return Number.isInteger(value) && Math.abs(value as number) > 2 ** 32 ? group(String(value)) : String(value);
}

function group(digits: string): string {
  return digits.replace(/(\d)(?=(\d{3})+$)/g, '$1_');
}

/** Node's SystemError, for operations that Node itself refuses. */
export function systemError(code: string, message: string, errno: number, syscall: string, path: string): Error {
  const error = codedError(Error, code, message);
  error.name = 'SystemError';
  return Object.assign(error, { errno, syscall, path, info: { code, message, path, syscall, errno } });
}

const COPY_TEXTS: Record<string, string> = {
  EINVAL: 'Invalid src or dest: cp returned EINVAL',
  EEXIST: 'Target already exists: cp returned EEXIST',
  SYMLINK_TO_SUBDIRECTORY: 'Cannot overwrite symlink in subdirectory of self: cp returned EINVAL',
  SOCKET: 'Cannot copy a socket file: cp returned EINVAL',
  FIFO_PIPE: 'Cannot copy a FIFO pipe: cp returned EINVAL',
  DIR_TO_NON_DIR: 'Cannot overwrite non-directory with directory: cp returned EISDIR',
  NON_DIR_TO_DIR: 'Cannot overwrite directory with non-directory: cp returned ENOTDIR',
};

/** ERR_FS_CP_… */
export function copyError(kind: string, errno: number, message: string, path: string): Error {
  const code = `ERR_FS_CP_${kind}`;
  return systemError(code, `${COPY_TEXTS[kind]} (${message}) ${path}`, errno, 'cp', path);
}
