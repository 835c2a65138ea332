/**
 * What threads write, in Node and in hosts like it.
 *
 * A thread of Node's (and of Bun's) sends what it writes by messages to the thread that started it, a piece at a time.
 * That takes event loops that turn, and what is on its way when the process ends is lost. In Deno a thread writes at
 * once, and nothing is diverted.
 *
 * Invariant: a piece that was taken is not sent by the host, and one that was refused is.
 */

import type { Writable } from 'node:stream';

/** By descriptor, from 1 on. */
const NAMES = ['stdout', 'stderr'] as const;

type Chunk = { readonly chunk: string | Uint8Array; readonly encoding: BufferEncoding };
type WriteAll = (chunks: Chunk[], done: (error?: Error | null) => void) => void;

function bytesOf({ chunk, encoding }: Chunk): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
}

/** See `divertOutput` of Host. */
export function divertOutput(take: (descriptor: number, bytes: Uint8Array) => boolean): void {
  for (const [index, name] of NAMES.entries()) {
    const stream = process[name] as Writable & { _writev?: WriteAll | null };
    const send = stream._writev;
    if (typeof send !== 'function') continue;
    stream._writev = (chunks, done) => {
      const refused = chunks.filter((chunk) => !take(index + 1, bytesOf(chunk)));
      if (refused.length === 0) done();
      else send.call(stream, refused, done);
    };
  }
}

function ignore(): void {}

/** Streams whose errors are heard just now. */
const hushed = new Set<Writable>();

/**
 * The stream tells an error after it has called back, and throws it where nobody listens. One listener does for many
 * pieces.
 */
function hush(stream: Writable): void {
  if (hushed.has(stream)) return;
  hushed.add(stream);
  stream.on('error', ignore);
  setImmediate(() => {
    hushed.delete(stream);
    stream.off('error', ignore);
  });
}

/** So long a thread waits for the one that started it to read what it writes. */
const PATIENCE_MS = 50;

/** When a stream last called back, or was given a piece while it had none: in seconds. */
const movedAt = new WeakMap<Writable, number>();
const now = (): number => process.uptime();

/**
 * A thread's stream calls back when the thread that started it has read. That one may be blocked until this one has its
 * result, or read nothing, ever. The host has what was written, and keeps it.
 */
function isStuck(stream: Writable): boolean {
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  return !isMainThread && (now() - movedAt.get(stream)!) * 1000 > PATIENCE_MS;
}

/** See `writeOutput` of Host. */
export function writeOutput(descriptor: number, bytes: Uint8Array<ArrayBuffer>): () => boolean {
  const stream: Writable = process[NAMES[descriptor - 1]!];
  let isWritten = false;
  if (!(stream.writableLength > 0) || !movedAt.has(stream)) movedAt.set(stream, now());
  stream.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), (error) => {
    isWritten = true;
    movedAt.set(stream, now());
    if (error) hush(stream); // as with `console`, no error comes back
  });
  // The program's own `write` need not call back, and what it has corked it may hold back until it has the result.
  return () => isWritten || !(stream.writableLength > 0) || stream.writableCorked > 0 || isStuck(stream);
}
