/**
 * Describes an error as a list of properties, and makes an error again from its class.
 *
 * Invariant: describing an error never throws and reads every property once, in this order: name, message, stack,
 * cause, errors, then the error's own enumerable properties. A property whose getter throws is omitted.
 */

import { PlaitError } from '../core/errors.ts';
import { ERROR_NAMES, isHiddenErrorKey } from './tags.ts';

/** One property of an error that is to be sent. */
export interface ErrorProperty {
  readonly key: string;
  readonly value: unknown;
}

/** The description of an error. */
export interface ErrorShape {
  /** The nearest built-in base class. */
  readonly className: string;
  /** Its index in ERROR_NAMES, or -1 for a DOMException. */
  readonly classIndex: number;
  /** A DOMException's message and name, which only its constructor can set. */
  readonly message: string;
  readonly name: string;
  /** All other properties. */
  readonly properties: readonly ErrorProperty[];
}

/** Describes `error`, whose nearest built-in class is `className` (see `Kind.name`). */
export function describeError(error: object, className: string): ErrorShape {
  const properties: ErrorProperty[] = [];
  const isDomError = className === 'DOMException';
  const name = readText(error, 'name') ?? className;
  const message = readText(error, 'message') ?? '';
  if (!isDomError) {
    if (name !== className) properties.push({ key: 'name', value: name });
    if (message !== '' || Object.hasOwn(error, 'message')) properties.push({ key: 'message', value: message });
  }
  const stack = readText(error, 'stack');
  if (stack !== undefined) properties.push({ key: 'stack', value: stack });
  if (Object.hasOwn(error, 'cause')) readInto(properties, error, 'cause');
  if (className === 'AggregateError' && Object.hasOwn(error, 'errors')) readInto(properties, error, 'errors');
  for (const key of Object.keys(error)) {
    if (!isHiddenErrorKey(key, className)) readInto(properties, error, key);
  }
  const classIndex = (ERROR_NAMES as readonly string[]).indexOf(className);
  return { className, classIndex, message, name, properties };
}

function readInto(properties: ErrorProperty[], error: object, key: string): void {
  try {
    properties.push({ key, value: Reflect.get(error, key) });
  } catch {
    // The property is omitted, so that the error can be sent.
  }
}

function readText(error: object, key: string): string | undefined {
  try {
    const value: unknown = Reflect.get(error, key);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces a cause, or a member of `errors`, that cannot be sent. */
export function describeUnsendable(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be described';
  }
}

/**
 * Returns the result of `make` without the reading thread's stack, which would be misleading. Engines also store the
 * stack apart from the property `stack`: for an uncaught error, Node prints the source line of its top frame.
 */
function withoutStack<T>(make: () => T): T {
  const limit = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit');
  Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return make();
  } finally {
    if (limit === undefined) Reflect.deleteProperty(Error, 'stackTraceLimit');
    else Reflect.set(Error, 'stackTraceLimit', limit.value);
  }
}

/**
 * Makes Node report that an uncaught error was thrown where `callee` was called. The property `stack` is unchanged.
 */
export function pointToCaller(error: unknown, callee: (...args: never[]) => unknown): void {
  if (!(error instanceof Error) || Error.captureStackTrace === undefined || !Object.isExtensible(error)) return;
  const stack = Object.getOwnPropertyDescriptor(error, 'stack');
  if (stack?.configurable === false) return;
  Error.captureStackTrace(error, callee);
  if (stack === undefined) Reflect.deleteProperty(error, 'stack');
  else Object.defineProperty(error, 'stack', stack);
}

/** An error of a built-in class without properties, or undefined for an index that is not in ERROR_NAMES. */
export function makeError(classIndex: number): Error | undefined {
  const name = ERROR_NAMES[classIndex];
  if (name === undefined) return undefined;
  const error = withoutStack(() => {
    if (name === 'PlaitError') return new PlaitError('ERR_PLAIT_BAD_MESSAGE', ''); // its code follows as a property
    return name === 'AggregateError' ? new AggregateError([]) : new globalThis[name]();
  });
  // Both follow as properties, if the original error has them.
  Reflect.deleteProperty(error, 'stack');
  Reflect.deleteProperty(error, 'errors');
  return error;
}

/** A DOMException, or a plain error of that name where there is no such class. */
export function makeDomError(message: string, name: string): Error {
  if (typeof DOMException === 'function') {
    const error = withoutStack(() => new DOMException(message, name));
    Reflect.deleteProperty(error, 'stack');
    return error;
  }
  const error = withoutStack(() => new Error(message));
  setErrorProperty(error, 'name', name, 'Error');
  return error;
}

/** Puts one property back on an error of the class `className`. */
export function setErrorProperty(error: Error, key: string, value: unknown, className: string): void {
  const enumerable = !isHiddenErrorKey(key, className);
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
