/**
 * Tells the classes of the host from those of a script, by their prototypes.
 *
 * An object of a host's class keeps its state where no property shows it: sent by its properties, it would arrive
 * empty. Most such classes are native, which their constructor's text says. Others are JavaScript: they are globals, or
 * have methods for the host's own cloning, or are named below.
 *
 * Invariant: nothing of the object itself is looked at, and no code of the user's runs.
 */

import { host } from '../core/host.ts';

/**
 * Classes of Node's modules that nothing else tells from a user's class, in some runtime. Not those of plain data
 * (`fs.Stats`), whose objects arrive as such, and not EventEmitter, from which users derive theirs.
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
  Stream: 'stream', // the base of all streams, so of sockets, hashes and ciphers, too
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
  /** Whether it is a global of that name, or one of a namespace, so that its users know the name. */
  readonly isKnown: boolean;
}

/** The class of the host whose prototype object this is, or undefined for any other object. */
export function hostClassOf(prototype: object): HostClass | undefined {
  const own = Object.getOwnPropertyDescriptor(prototype, 'constructor');
  const make: unknown = own?.value;
  const label = labelOf(prototype);
  if (typeof make !== 'function') {
    // Those of iterators, generators, segments of text: there is no class. `Iterator`, from which users derive theirs,
    // has a getter.
    if (own?.get !== undefined || !(isIterator(label) || hasOnlyNativeMethods(prototype))) return undefined;
    return { name: label ?? 'host object', isKnown: true };
  }
  if (make.prototype !== prototype) return undefined;
  const name: unknown = Object.getOwnPropertyDescriptor(make, 'name')?.value;
  if (typeof name !== 'string' || (name === '' && isOfEnvironment(prototype))) return undefined;
  // 'WebAssembly.Memory' says more than 'Memory'.
  if (label?.endsWith(`.${name}`) && isNative(make)) return { name: label, isKnown: true };
  if (isHostGlobal(make, name)) return { name, isKnown: true };
  return isNative(make) || isCloneable(prototype) || isOfNode(make, name) ? { name, isKnown: false } : undefined;
}

/** The name of the class that an object of that prototype is of; empty: it has none. */
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

/** `process.env` looks native, and yet its properties are all of it. */
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
  // A script's own object may have nothing but native functions, too, but they list.
  return methods.length > 0 && methods.every(isNative) && !all.some(([, { enumerable }]) => enumerable);
}

/** Node writes most web classes in JavaScript; what tells them from a script's own globals is that they do not list. */
function isHostGlobal(make: object, name: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
  return descriptor !== undefined && !descriptor.enumerable && Reflect.get(globalThis, name) === make;
}

/** Whether Node clones objects of the class in a way of its own: BlockList, Histogram, FileHandle. */
function isCloneable(prototype: object): boolean {
  return Object.getOwnPropertySymbols(prototype).some(({ description }) =>
    /^messaging_(clone|transfer)_symbol$/.test(description ?? ''),
  );
}

function isOfNode(make: object, name: string): boolean {
  const module = Object.hasOwn(NODE_CLASSES, name) ? NODE_CLASSES[name] : undefined;
  const process = host.builtin('node:process') as { moduleLoadList?: readonly string[] } | undefined;
  if (module === undefined || process === undefined) return false;
  // A class of Node's has objects, so its module is loaded. One that is not stays so: a user's class may have the same
  // name.
  const loaded = process.moduleLoadList ?? []; // other runtimes keep none
  if (loaded.length > 0 && !loaded.includes(`NativeModule ${module}`)) return false;
  return Object(host.builtin(`node:${module}`))[name] === make;
}
