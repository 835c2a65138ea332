/**
 * Output of threads, in Node and in hosts like it.
 *
 * A thread of Node (and Bun) sends its output in messages to the thread that started it, one piece at a time. That
 * needs turning event loops, and messages under way are lost when the process ends. In Deno a thread writes at once,
 * and nothing is diverted.
 *
 * Invariant: the host does not send a piece that was taken, and sends one that was refused.
 */

import type { Writable } from 'node:stream';

/** The streams by descriptor, from 1 on. */
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

/** Streams that have an error listener of ours. */
const hushed = new Set<Writable>();

/** The stream emits an error after the callback, and throws it without a listener. One listener serves many pieces. */
function hush(stream: Writable): void {
  if (hushed.has(stream)) return;
  hushed.add(stream);
  stream.on('error', ignore);
  setImmediate(() => {
    hushed.delete(stream);
    stream.off('error', ignore);
  });
}

/** How long a thread waits for its starter to read its output. */
const PATIENCE_MS = 50;

/** When a stream last called back, or received a piece while it had none, in seconds. */
const movedAt = new WeakMap<Writable, number>();
const now = (): number => process.uptime();

/**
 * The stream of a thread calls back when the thread that started it has read the piece. That thread may be blocked
 * until it has this one's result, or never read. The host keeps what was written.
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
    if (error) hush(stream); // as with `console`, errors are ignored
  });
  // The program's own `write` need not call back, and what it has corked it may hold back until it has the result.
  return () => isWritten || !(stream.writableLength > 0) || stream.writableCorked > 0 || isStuck(stream);
}
