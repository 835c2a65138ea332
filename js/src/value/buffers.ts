/**
 * Collects the buffers behind the views of one value, and which part of each is sent.
 *
 * Invariant: every view that was added lies inside its buffer's span, and the span's start is a multiple of the
 * element size of each, so that a view can be made on the span alone.
 */

import { isDetached, isSharedElsewhere } from './buffer-state.ts';
import { OWN_SHARED, Unsendable } from './kinds.ts';
import type { ByteSink } from './sink.ts';
import { paddingAt } from './tags.ts';

interface BufferSpan {
  readonly index: number;
  readonly buffer: ArrayBufferLike;
  start: number;
  end: number;
  /** The biggest element size of its views. */
  alignment: number;
}

/** The buffers of one value, numbered in the order in which the writer found them. */
export class BufferSpans {
  readonly #spans = new Map<ArrayBufferLike, BufferSpan>();

  /** How many buffers there are. */
  get size(): number {
    return this.#spans.size;
  }

  /** Notes that the bytes from `start` to `end` of a buffer are part of the value; returns the buffer's number. */
  add(buffer: ArrayBufferLike, start: number, end: number, alignment: number): number {
    let span = this.#spans.get(buffer);
    if (span === undefined && isSharedElsewhere(buffer))
      throw new Unsendable('a view on a SharedArrayBuffer', ...OWN_SHARED);
    if (buffer.byteLength === 0 && isDetached(buffer)) {
      throw new Unsendable('a detached ArrayBuffer or a view on one', 'bytes that have moved elsewhere');
    }
    if (span === undefined) {
      span = { index: this.#spans.size, buffer, start, end, alignment };
      this.#spans.set(buffer, span);
    }
    span.alignment = Math.max(span.alignment, alignment);
    span.start = Math.min(span.start, start);
    span.start -= span.start % span.alignment;
    span.end = Math.max(span.end, end);
    return span.index;
  }

  /** Removes the buffers from number `size` on. A span that has grown since then keeps its size, which costs bytes. */
  truncate(size: number): void {
    if (this.#spans.size === size) return;
    for (const { index, buffer } of this.#spans.values()) if (index >= size) this.#spans.delete(buffer);
  }

  /** Writes the table of buffers and, last, where it begins. */
  write(sink: ByteSink): void {
    const at = sink.position; // no part is outside of the sink yet
    sink.varint(this.#spans.size);
    for (const { buffer, start, end } of this.#spans.values()) {
      sink.varint(start);
      sink.varint(end - start);
      sink.zeros(paddingAt(sink.position + sink.uncopiedSize));
      sink.copy(partOf(buffer, start, end));
    }
    sink.double(at);
  }
}

/**
 * The part of a buffer that is sent. Its own properties are not read: that would run user code while other parts of the
 * message are still to be copied from the value's own memory.
 */
function partOf(buffer: ArrayBufferLike, start: number, end: number): Uint8Array {
  try {
    return new Uint8Array(buffer, start, end - start);
  } catch {
    throw new Unsendable('holding a buffer that shrank while it was read', 'values that change meanwhile');
  }
}
