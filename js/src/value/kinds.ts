/**
 * Classifies objects, and describes values that cannot be sent.
 *
 * Invariant: the result depends only on the object's prototype chain and is cached for each prototype, so it costs one
 * look-up an object. It works for objects of other realms (frames, `node:vm` contexts), because a native class is
 * identified by its name (value/classes.ts). The result is only a candidate. Code that relies on an internal slot must
 * still read the slot, because `Object.create(Map.prototype)` and a Proxy have the prototype without it.
 */

import { PlaitError } from '../core/errors.ts';
import { OPAQUE, type Opaque } from '../core/opaque.ts';
import { classNameOf, hostClassOf } from './classes.ts';
import { Moved } from './moved.ts';

/**
 * The user's name for a value, such as 'input', with which an error's path begins. A function is called only for an
 * error.
 */
export type Root = string | (() => string);

/** The part of a value that cannot be sent, and its path; thrown inside the writer, which makes it a PlaitError. */
export class Unsendable {
  /** A noun with its article: 'a function'. */
  readonly what: string;
  /** What cannot be sent, as the subject of a sentence: 'functions'. */
  readonly which: string;
  /** What to do instead; empty: there is no advice. */
  readonly instead: string;
  /** The steps of the path, the innermost first; filled in while the throw unwinds. */
  readonly steps: string[] = [];

  constructor(what: string, which: string, instead = '') {
    this.what = what;
    this.which = which;
    this.instead = instead;
  }

  /** The error message, for a value that the user knows as `root`. */
  describe(root: Root): string {
    const path = (typeof root === 'string' ? root : root()) + this.steps.toReversed().join('');
    const advice = this.instead && `; ${this.instead}`;
    return `${path} is ${this.what}, and ${this.which} cannot be sent to another thread${advice}`;
  }
}

/** Adds a step to the path of a failed write; other errors pass through unchanged. */
export function withStep(error: unknown, step: string): unknown {
  if (error instanceof Unsendable) error.steps.push(step);
  return error;
}

/** The step to a property. */
export function propertyStep(key: string): string {
  if (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)) return `.${key}`;
  return /^(0|[1-9]\d*)$/.test(key) ? `[${key}]` : `[${JSON.stringify(key)}]`;
}

/** The step to a member of a Set. */
export function memberStep(_members: readonly unknown[], index: number): string {
  return `.<member ${index}>`;
}

/** The step to a key or a value in a Map's list of keys and values. */
export function entryStep(entries: readonly unknown[], index: number): string {
  const name = `<key ${index >>> 1}>`;
  if (index % 2 === 0) return `.${name}`;
  const key = entries[index - 1];
  return `.get(${typeof key === 'string' ? JSON.stringify(key) : name})`;
}

/** The user's own shared memory is not sent: subject and advice of the error. */
export const OWN_SHARED = [
  "shared memory other than the heap's",
  'hand the SharedArrayBuffer over as workerData, or use heap.bytes(); for a copy, send view.slice()',
] as const;

const KIND = 'objects of that kind';

const REASONS = new Map<string, readonly [which: string, instead: string]>([
  ['SharedArrayBuffer', OWN_SHARED],
  ['WebAssembly.Module', ['compiled code', 'hand it over as workerData, or send its bytes']],
  ['Promise', [KIND, 'await it, and send what it resolves to']],
  ['Response', [KIND, 'send what is in it, such as await response.json() or await response.text()']],
  ['Blob', [KIND, 'send its bytes, await blob.arrayBuffer()']],
  ['File', [KIND, 'send its bytes, await file.arrayBuffer(), and its name']],
  ['URL', [KIND, 'send its href']],
  ['URLSearchParams', [KIND, 'send it as a string']],
  ['Headers', [KIND, 'send its entries, [...headers]']],
  ['X509Certificate', [KIND, 'send its bytes, certificate.raw']],
]);

/**
 * An object of a class whose instances have no structured form. `advice`: what to do instead, if the class has such a
 * description.
 */
export function unsendableObject(name: string, advice?: string): Unsendable {
  // It is 'a URL', 'a USBDevice', but 'an X509Certificate', because the letter is pronounced.
  const article = /^([aeio]|X\d)/i.test(name) ? 'an' : 'a';
  const [which = KIND, instead = advice] = REASONS.get(name) ?? [];
  return new Unsendable(`${article} ${name}`, which, instead);
}

/** The classification of the objects with a given prototype. */
export interface Kind {
  /**
   * `plain`: own properties are its whole state. `known`: a built-in class with a form of its own. `moved`: a result of
   * give() or transfer(). `host`: any other object.
   */
  readonly form: 'plain' | 'known' | 'error' | 'moved' | 'host';
  /** The nearest built-in class, such as 'Map', or a name to show for a host object. */
  readonly name: string;
  /** What to send instead. */
  readonly instead?: string;
}

const PLAIN: Kind = { form: 'plain', name: 'Object' };

/** Built-in classes without an internal slot that matters here. */
const PLAIN_NAMES = new Set(['Object', 'Array', 'Function']);

const KNOWN_NAMES = new Set(['Date', 'RegExp', 'Map', 'Set', 'ArrayBuffer', 'Number', 'String', 'Boolean', 'BigInt']);

const ERROR_CLASS = /^((Aggregate|Eval|Range|Reference|Syntax|Type|URI)?Error|DOMException)$/;

const kinds = new WeakMap<object, Kind>();

/** Classifies an object by its prototype. pre: it is no array and no view. */
export function kindOfPrototype(prototype: object): Kind {
  let kind = kinds.get(prototype);
  if (kind === undefined) {
    kind = findKind(prototype);
    kinds.set(prototype, kind);
  }
  return kind;
}

function findKind(prototype: object): Kind {
  let host: Kind | undefined;
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    if (at === PlaitError.prototype) return { form: 'error', name: 'PlaitError' };
    if (at === Moved.prototype) return { form: 'moved', name: 'Moved' };
    const opaque: Opaque | undefined = Object.getOwnPropertyDescriptor(at, OPAQUE)?.value;
    if (opaque !== undefined) return { form: 'host', ...opaque };
    const found = hostClassOf(at);
    if (found === undefined) continue;
    const { name, isKnown } = found;
    // An error class without a form of its own here, such as WebAssembly.RuntimeError, is found through its base class.
    if (ERROR_CLASS.test(name)) return { form: 'error', name };
    if (host !== undefined) continue;
    if (PLAIN_NAMES.has(name)) return PLAIN;
    if (KNOWN_NAMES.has(name)) return { form: 'known', name };
    host = { form: 'host', name: isKnown ? name : classNameOf(prototype) || 'host object' };
  }
  return host ?? PLAIN;
}
