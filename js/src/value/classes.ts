/**
 * Distinguishes the host's classes from a script's classes, by their prototypes.
 *
 * An object of a host class keeps its state where no property shows it. If its properties were sent, it would arrive
 * empty. Most such classes are native, and their constructor's source text says so. Others are written in JavaScript:
 * they are globals, or have methods for the host's own cloning, or are listed below.
 *
 * Invariant: the object itself is not examined, and no user code runs.
 */

import { host } from '../core/host.ts';

/**
 * Classes of Node's modules that some runtime offers no other way to distinguish from a user's class. Classes of plain
 * data (`fs.Stats`) are not listed: their objects can be sent. EventEmitter is not listed: users derive from it.
 */
const NODE_CLASSES: Readonly<Record<string, string>> = {
  AsyncLocalStorage: 'async_hooks',
  AsyncResource: 'async_hooks',
  BlockList: 'net',
  BoundSocket: 'net',
  BoundedChannel: 'diagnostics_channel',
  Certificate: 'crypto',
  Channel: 'diagnostics_channel',
  ChildProcess: 'child_process',
  DiffieHellman: 'crypto',
  DiffieHellmanGroup: 'crypto',
  Dir: 'fs',
  DynamicLibrary: 'ffi',
  ECDH: 'crypto',
  GCProfiler: 'v8',
  KeyObject: 'crypto',
  MIMEParams: 'util',
  MIMEType: 'util',
  ReadableStreamTee: 'stream/web',
  Readline: 'readline/promises',
  Server: 'net',
  Session: 'inspector',
  Socket: 'dgram',
  SocketAddress: 'net',
  SourceMap: 'module',
  Stream: 'stream', // the base class of all streams, and so of sockets, hashes and ciphers
  StringDecoder: 'string_decoder',
  WASI: 'wasi',
  Worker: 'worker_threads',
  X509Certificate: 'crypto',
  ZipBuffer: 'zlib',
  ZipEntry: 'zlib',
  ZipFile: 'zlib',
};

/** A class of the host. */
export interface HostClass {
  readonly name: string;
  /** Whether it is a global of that name, or a member of a global namespace, so that users know the name. */
  readonly isKnown: boolean;
}

/** The class of the host whose prototype object this is, or undefined for any other object. */
export function hostClassOf(prototype: object): HostClass | undefined {
  const own = Object.getOwnPropertyDescriptor(prototype, 'constructor');
  const make: unknown = own?.value;
  const label = labelOf(prototype);
  if (typeof make !== 'function') {
    // Iterators, generators and segments of text have no class. `Iterator`, from which users derive, has a getter.
    if (own?.get !== undefined || !(isIterator(label) || hasOnlyNativeMethods(prototype))) return undefined;
    return { name: label ?? 'host object', isKnown: true };
  }
  if (make.prototype !== prototype) return undefined;
  const name: unknown = Object.getOwnPropertyDescriptor(make, 'name')?.value;
  if (typeof name !== 'string' || (name === '' && isOfEnvironment(prototype))) return undefined;
  // 'WebAssembly.Memory' is clearer than 'Memory'.
  if (label?.endsWith(`.${name}`) && isNative(make)) return { name: label, isKnown: true };
  if (isHostGlobal(make, name)) return { name, isKnown: true };
  return isNative(make) || isCloneable(prototype) || isOfNode(make, name) ? { name, isKnown: false } : undefined;
}

/** The name of the class that this prototype belongs to; empty: there is none. */
export function classNameOf(prototype: object): string {
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const make: unknown = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    const name: unknown = typeof make === 'function' ? Object.getOwnPropertyDescriptor(make, 'name')?.value : undefined;
    if (typeof name === 'string' && name !== '') return name;
  }
  return '';
}

function labelOf(prototype: object): string | undefined {
  const label: unknown = Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value;
  return typeof label === 'string' ? label : undefined;
}

/** `process.env` looks native, although it has no state apart from its properties. */
function isOfEnvironment(prototype: object): boolean {
  return prototype === Object.getPrototypeOf((host.builtin('node:process') as NodeJS.Process | undefined)?.env ?? {});
}

function isIterator(label: string | undefined): boolean {
  return label !== undefined && /( Iterator|^(Async)?Generator)$/.test(label);
}

function isNative(make: object): boolean {
  return /\{\s*\[native code\]\s*\}\s*$/.test(Function.prototype.toString.call(make));
}

function hasOnlyNativeMethods(prototype: object): boolean {
  const all = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const methods = all.map(([, { value, get }]) => value ?? get).filter((value) => typeof value === 'function');
  // A script's own object may have only native functions, too, but they are enumerable.
  return methods.length > 0 && methods.every(isNative) && !all.some(([, { enumerable }]) => enumerable);
}

/** Most web classes of Node are written in JavaScript. Unlike a script's own globals, they are not enumerable. */
function isHostGlobal(make: object, name: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
  return descriptor !== undefined && !descriptor.enumerable && Reflect.get(globalThis, name) === make;
}

/** Whether Node has its own way to clone objects of the class: BlockList, Histogram, FileHandle. */
function isCloneable(prototype: object): boolean {
  return Object.getOwnPropertySymbols(prototype).some(({ description }) =>
    /^messaging_(clone|transfer)_symbol$/.test(description ?? ''),
  );
}

function isOfNode(make: object, name: string): boolean {
  const module = Object.hasOwn(NODE_CLASSES, name) ? NODE_CLASSES[name] : undefined;
  const process = host.builtin('node:process') as { moduleLoadList?: readonly string[] } | undefined;
  if (module === undefined || process === undefined) return false;
  // If Node's class has objects, its module is loaded. A module that is not loaded is not loaded here, because a user's
  // class may have the same name.
  const loaded = process.moduleLoadList ?? []; // other runtimes have no such list
  if (loaded.length > 0 && !loaded.includes(`NativeModule ${module}`)) return false;
  return Object(host.builtin(`node:${module}`))[name] === make;
}
