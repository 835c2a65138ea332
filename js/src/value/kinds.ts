/**
 * Tells what an object is, and says in words what cannot be sent.
 *
 * Invariant: the answer depends on the object's chain of prototypes alone and is kept per prototype, so it costs one
 * look-up an object. It works for objects of other realms (frames, `node:vm` contexts), because a native class is
 * known by its name and not by identity (value/classes.ts). It is only a candidate: whoever relies on an internal
 * slot must still touch the slot, since `Object.create(Map.prototype)` and a Proxy have the prototype without it.
 */

import { PlaitError } from '../core/errors.ts';
import { OPAQUE, type Opaque } from '../core/opaque.ts';
import { classNameOf, hostClassOf } from './classes.ts';
import { Moved } from './moved.ts';

/**
 * What the user calls a value, such as 'input': the beginning of an error's path. Asked for only where there is one.
 */
export type Root = string | (() => string);

/** What stops a value from being sent, and where it is; thrown inside the writer and turned into a PlaitError there. */
export class Unsendable {
  /** What it is, with its article: 'a function'. */
  readonly what: string;
  /** What cannot be sent, as the subject of a sentence: 'functions'. */
  readonly which: string;
  /** What to do instead; empty: nothing comes to mind. */
  readonly instead: string;
  /** The steps that lead to it, the innermost first; filled in while the throw unwinds. */
  readonly steps: string[] = [];

  constructor(what: string, which: string, instead = '') {
    this.what = what;
    this.which = which;
    this.instead = instead;
  }

  /** The whole sentence, for a value that its user knows as `root`. */
  describe(root: Root): string {
    const path = (typeof root === 'string' ? root : root()) + this.steps.toReversed().join('');
    const advice = this.instead && `; ${this.instead}`;
    return `${path} is ${this.what}, and ${this.which} cannot be sent to another thread${advice}`;
  }
}

/** Notes one more step on the way out of a failed write; other errors pass through unchanged. */
export function withStep(error: unknown, step: string): unknown {
  if (error instanceof Unsendable) error.steps.push(step);
  return error;
}

/** How a property is written after the name of what holds it. */
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

/** Why shared memory of the user's own is not sent, and what to do instead. */
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
 * An object of a class whose instances have no structured form. `advice`: what to do instead, where its class says so.
 */
export function unsendableObject(name: string, advice?: string): Unsendable {
  // Names with a U begin with its own sound: a URL, a USBDevice. So do letters and digits that are spelt out.
  const article = /^([aeio]|X\d)/i.test(name) ? 'an' : 'a';
  const [which = KIND, instead = advice] = REASONS.get(name) ?? [];
  return new Unsendable(`${article} ${name}`, which, instead);
}

/** What an object with a given prototype is. */
export interface Kind {
  /**
   * `plain`: its own properties are all of it. `known`: a built-in class with a form of its own. `moved`: what give()
   * and transfer() make. `host`: none of these.
   */
  readonly form: 'plain' | 'known' | 'error' | 'moved' | 'host';
  /** The nearest built-in class, such as 'Map', or a name to show for a host object. */
  readonly name: string;
  /** What to send instead of it. */
  readonly instead?: string;
}

const PLAIN: Kind = { form: 'plain', name: 'Object' };

/** Built-in classes whose mere prototype gives an object no internal slot that matters here. */
const PLAIN_NAMES = new Set(['Object', 'Array', 'Function']);

const KNOWN_NAMES = new Set(['Date', 'RegExp', 'Map', 'Set', 'ArrayBuffer', 'Number', 'String', 'Boolean', 'BigInt']);

const ERROR_CLASS = /^((Aggregate|Eval|Range|Reference|Syntax|Type|URI)?Error|DOMException)$/;

const kinds = new WeakMap<object, Kind>();

/** What an object is, by its prototype. Arrays and views are to be sorted out before. */
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
    // Also a class of errors that has no form of its own here, such as WebAssembly.RuntimeError, is one of these in the
    // end.
    if (ERROR_CLASS.test(name)) return { form: 'error', name };
    if (host !== undefined) continue;
    if (PLAIN_NAMES.has(name)) return PLAIN;
    if (KNOWN_NAMES.has(name)) return { form: 'known', name };
    host = { form: 'host', name: isKnown ? name : classNameOf(prototype) || 'host object' };
  }
  return host ?? PLAIN;
}
