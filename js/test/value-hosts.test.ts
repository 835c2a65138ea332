/**
 * Objects of the host: those with hidden state are refused by name, and never arrive empty or incomplete. The tests use
 * all classes of this version of Node; the oracle is structuredClone.
 */
import assert from 'node:assert/strict';
import { builtinModules } from 'node:module';
import { test } from 'node:test';
import vm from 'node:vm';

import { Pool } from '../../dist/index.js';
import { readValue } from '../../dist/value/reader.js';
import { ValueWriter } from '../../dist/value/writer.js';

const writer = new ValueWriter();

function send(value: unknown): unknown {
  return readValue(writer.write(value, 'input').slice());
}

/** Why it cannot be sent; undefined: it can. */
function refusal(value: unknown): string | undefined {
  try {
    writer.write({ a: value }, 'input');
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'ERR_PLAIT_CANNOT_SEND', String(error));
    return (error as Error).message;
  }
  return undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: modules that this compiler's types may not have.
const node = (name: string): any => process.getBuiltinModule(name);
// biome-ignore lint/suspicious/noExplicitAny: likewise.
const scope = globalThis as any;
const WASM = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);

/** How to make one of each; undefined, or a throw: this version has none. */
const MAKERS: Record<string, () => unknown> = {
  BlockList: () => new (node('net').BlockList)(),
  SocketAddress: () => new (node('net').SocketAddress)(),
  BoundSocket: () => new (node('net').BoundSocket)(),
  Server: () => node('net').createServer(),
  Socket: () => node('dgram').createSocket('udp4').close(),
  X509Certificate: () => Object.create(node('crypto').X509Certificate.prototype),
  SecretKeyObject: () => node('crypto').createSecretKey(Buffer.from('key')),
  PublicKeyObject: () => node('crypto').generateKeyPairSync('ed25519').publicKey,
  CryptoKey: () => Object.create(scope.CryptoKey.prototype),
  Hash: () => node('crypto').createHash('sha256'),
  Hmac: () => node('crypto').createHmac('sha256', 'key'),
  Sign: () => node('crypto').createSign('sha256'),
  Cipheriv: () => node('crypto').createCipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16)),
  ECDH: () => node('crypto').createECDH('secp256k1'),
  DiffieHellmanGroup: () => node('crypto').getDiffieHellman('modp14'),
  RecordableHistogram: () => node('perf_hooks').createHistogram(),
  ELDHistogram: () => node('perf_hooks').monitorEventLoopDelay(),
  PerformanceMark: () => performance.mark('mark'),
  AsyncLocalStorage: () => new (node('async_hooks').AsyncLocalStorage)(),
  AsyncResource: () => new (node('async_hooks').AsyncResource)('resource'),
  Channel: () => node('diagnostics_channel').channel('plait'),
  Dir: () => {
    const folder = node('fs').opendirSync('/');
    folder.closeSync();
    return folder;
  },
  Readable: () => new (node('stream').Readable)(),
  PassThrough: () => new (node('stream').PassThrough)(),
  Gzip: () => node('zlib').createGzip(),
  StringDecoder: () => new (node('string_decoder').StringDecoder)('utf8'),
  MIMEType: () => new (node('util').MIMEType)('text/plain'),
  MIMEParams: () => new (node('util').MIMEType)('text/plain').params,
  GCProfiler: () => new (node('v8').GCProfiler)(),
  Serializer: () => new (node('v8').Serializer)(),
  Session: () => new (node('inspector').Session)(),
  Script: () => new (node('vm').Script)('1'),
  'array iterator': () => [].values(),
  'Map Iterator': () => new Map().entries(),
  'Iterator Helper': () => scope.Iterator.prototype.map.call([].values(), () => 1),
  'wrapped iterator': () => scope.Iterator.from({ next() {} }),
  'String Iterator': () => ''[Symbol.iterator](),
  Generator: () => (function* () {})(),
  AsyncGenerator: () => (async function* () {})(),
  'segments of a text': () => new Intl.Segmenter('en').segment('text'),
  'Segmenter String Iterator': () => new Intl.Segmenter('en').segment('text')[Symbol.iterator](),
  'Intl.NumberFormat': () => new Intl.NumberFormat('en'),
  'Intl.Locale': () => new Intl.Locale('en'),
  'URLSearchParams Iterator': () => new URLSearchParams().entries(),
  'Headers Iterator': () => new Headers().entries(),
  WeakMap: () => new WeakMap(),
  WeakSet: () => new WeakSet(),
  WeakRef: () => new WeakRef({}),
  FinalizationRegistry: () => new FinalizationRegistry(() => {}),
  Promise: () => Promise.resolve(),
  Symbol: () => Object(Symbol('boxed')),
  'Temporal.Instant': () => scope.Temporal.Now.instant(),
  'Temporal.PlainDate': () => scope.Temporal.Now.plainDateISO(),
  'Temporal.Duration': () => scope.Temporal.Duration.from({ hours: 1 }),
  'WebAssembly.Module': () => new WebAssembly.Module(WASM),
  'WebAssembly.Instance': () => new WebAssembly.Instance(new WebAssembly.Module(WASM)),
  'WebAssembly.Memory': () => new WebAssembly.Memory({ initial: 1 }),
  'WebAssembly.Table': () => new WebAssembly.Table({ initial: 1, element: 'anyfunc' }),
  'WebAssembly.Global': () => new WebAssembly.Global({ value: 'i32' }, 1),
  URL: () => new URL('http://host/'),
  URLSearchParams: () => new URLSearchParams('a=1'),
  Headers: () => new Headers({ a: '1' }),
  Request: () => new Request('http://host/'),
  Response: () => new Response('text'),
  FormData: () => new FormData(),
  Blob: () => new Blob(['text']),
  File: () => new scope.File(['text'], 'name'),
  Event: () => new Event('event'),
  EventTarget: () => new EventTarget(),
  AbortController: () => new AbortController(),
  AbortSignal: () => AbortSignal.abort(),
  ReadableStream: () => new ReadableStream(),
  WritableStream: () => new WritableStream(),
  TransformStream: () => new TransformStream(),
  CompressionStream: () => new CompressionStream('gzip'),
  TextDecoder: () => new TextDecoder(),
  MessageChannel: () => {
    const channel = new MessageChannel();
    channel.port1.close();
    return channel;
  },
  BroadcastChannel: () => {
    const channel = new BroadcastChannel('plait');
    channel.close();
    return channel;
  },
  DatabaseSync: () => new (node('sqlite').DatabaseSync)(':memory:'),
  DisposableStack: () => new scope.DisposableStack(),
};

/** Node aborts over the handle of a histogram that was collected, when it is asked for its handles. */
const kept: unknown[] = [];

test('objects with hidden state are refused by name, and so are objects of derived classes', () => {
  let count = 0;
  for (const [name, make] of Object.entries(MAKERS)) {
    let value: unknown;
    try {
      value = make();
    } catch {
      continue; // not in this version
    }
    if (value === undefined) continue;
    kept.push(value);
    count++;
    const why = refusal(value);
    assert.match(why ?? `${name} was sent`, /^input\.a is an? [\w. ]+, and .* cannot be sent to another thread/);
    if (/^[A-Z]/.test(name)) assert.ok(why?.includes(` ${name},`), `${name}: ${why}`);
    // The same for an object of a class of the user's that is derived from it.
    const derived = Object.create(Object.create(Object.getPrototypeOf(value) as object));
    assert.match(refusal(derived) ?? `a derived ${name} was sent`, /^input\.a is /);
  }
  assert.ok(count > 65, `${count} of them are here`);
});

/**
 * Classes whose objects are sent by their properties, for that is all of them, or for those hold what cannot be sent.
 */
const BY_PROPERTIES = new Set([
  ...[
    'Object',
    'Array',
    'Iterator',
    'Dirent',
    'Stats',
    'Url',
    'EventEmitter',
    'Module',
    'Assert',
    'CallTracker',
    'Console',
  ],
  ...['Resolver', 'Domain', 'Agent', 'Interface', 'REPLServer', 'SecureContext', 'Recoverable', 'SIGUSR2'],
]);

test('every class that Node has is one of errors, or refused, or known to be data', () => {
  const seen = new Set<unknown>();
  const sent = new Set<string>();
  const look = (made: unknown, name: string): void => {
    if (typeof made !== 'function' || seen.has(made)) return;
    seen.add(made);
    const prototype: unknown = Object.getOwnPropertyDescriptor(made, 'prototype')?.value;
    if (typeof prototype !== 'object' || prototype === null || /(Error|Exception)$/.test(name)) return;
    if (refusal(Object.create(prototype)) === undefined) sent.add(name);
  };
  const scan = (holder: object, depth: number): void => {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (/^[A-Z]/.test(name)) look(value, name);
      if (depth > 0 && typeof value === 'object' && value !== null) scan(value as object, depth - 1);
    }
  };
  for (const name of builtinModules) if (!/^(_|sys|punycode|cluster)/.test(name)) scan(node(name) as object, 1);
  scan(globalThis, 0);
  for (const name of ['Intl', 'WebAssembly', 'Temporal']) if (name in globalThis) scan(scope[name] as object, 0);
  assert.ok(seen.size > 150, `${seen.size} classes`);
  assert.deepEqual(
    [...sent].filter((name) => !BY_PROPERTIES.has(name)),
    [],
  );
});

test("objects of users' classes are sent as by structuredClone, whatever their name and contents", () => {
  const symbol: unique symbol = Symbol('symbol');
  class Hash {
    kept = 1;
    readonly #hidden = 2;
    [symbol] = 3;
    get sum(): number {
      return this.kept + this.#hidden;
    }
    get [Symbol.toStringTag](): string {
      return 'WebAssembly.Hash';
    }
  }
  class BlockList extends Hash {
    readonly addresses = ['1.2.3.4'];
  }
  class Emitter extends (node('events') as new () => object) {
    readonly own = [1];
  }
  const natives = [Object.create({ each: Array.prototype.forEach }), Object.create({ each: String.bind(null) })];
  for (const value of [
    new Hash(),
    new BlockList(),
    new Emitter(),
    ...natives.map((each) => Object.assign(each, { a: 1 })),
  ]) {
    assert.deepEqual(send(value), structuredClone(value));
  }
  if (scope.Iterator !== undefined) {
    class Count extends (scope.Iterator as new () => object) {
      readonly from = 1;
    }
    assert.deepEqual(send(new Count()), { from: 1 });
  }
  const stats = node('fs').statSync('/');
  assert.deepEqual(send(stats), structuredClone(stats));
});

test('the environment is sent as by structuredClone', () => {
  assert.deepEqual(send(process.env), structuredClone(process.env));
  assert.deepEqual(send({ env: process.env }), { env: { ...process.env } });
});

test("errors of the host's own classes are errors all the same", () => {
  const errors = [new WebAssembly.RuntimeError('trap'), new WebAssembly.CompileError('wasm')];
  if (scope.SuppressedError !== undefined) errors.push(new scope.SuppressedError(1, 2, 'both'));
  errors.push(vm.runInNewContext("new WebAssembly.RuntimeError('far')"));
  class Trap extends WebAssembly.RuntimeError {
    readonly at = 5;
  }
  errors.push(new Trap('own'));
  for (const error of errors) {
    const got = send(error) as Error;
    assert.ok(got instanceof Error);
    assert.deepEqual([got.name, got.message, got.stack], [error.name, error.message, error.stack]);
  }
  assert.equal((send(errors.at(-1)) as Trap).at, 5);
  if (scope.QuotaExceededError !== undefined) {
    const quota = send(new scope.QuotaExceededError('full')) as DOMException;
    assert.ok(quota instanceof DOMException);
    assert.deepEqual([quota.name, quota.message], ['QuotaExceededError', 'full']);
  }
});

test('between threads: such a result is refused, and a RuntimeError arrives', { timeout: 60000 }, async (t) => {
  const module = `data:text/javascript,${encodeURIComponent(`
    import net from 'node:net';
    export const list = () => ({ list: new net.BlockList() });
    export const response = () => new Response('text');
    export const trap = () => { throw new WebAssembly.RuntimeError('unreachable'); };
  `)}`;
  const pool = new Pool(module, { threads: 1 });
  t.after(() => pool.close({ force: true }));
  const said = async (name: string): Promise<unknown> =>
    pool.run(0, { name }).then(String, (error: Error) => `${error.name}: ${error.message}`);
  assert.match(String(await said('list')), /output\.list is a BlockList, and objects of that kind cannot be sent/);
  assert.match(String(await said('response')), /output is a Response, .*send what is in it/);
  assert.equal(await said('trap'), 'RuntimeError: unreachable');
});
