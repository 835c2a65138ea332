/**
 * Node's Buffer, whose functions are native; undefined where there is none, or where a bundler has replaced it.
 */

interface NodeBuffer {
  readonly prototype: Uint8Array & {
    latin1Slice(start: number, end: number): string;
    ucs2Slice(start: number, end: number): string;
  };
  from(text: string, encoding?: string): Uint8Array<ArrayBuffer>;
  from(buffer: ArrayBufferLike, offset?: number, length?: number): StringBuffer;
  allocUnsafe(size: number): Uint8Array<ArrayBuffer>;
  /** Not from a slab: its `buffer` is not shared with others. */
  allocUnsafeSlow(size: number): StringBuffer;
  isEncoding(name: string): boolean;
}

/** Bytes that can be decoded to a string, or written from one. */
export interface StringBuffer extends Uint8Array<ArrayBuffer> {
  latin1Slice(start: number, end: number): string;
  ucs2Slice(start: number, end: number): string;
  latin1Write(text: string, offset: number, length: number): number;
  ucs2Write(text: string, offset: number, length: number): number;
  write(text: string, offset: number, length: number, encoding: string): number;
}

const { Buffer: found } = globalThis as unknown as { Buffer?: NodeBuffer };

export const nodeBuffer: NodeBuffer | undefined = found?.prototype?.latin1Slice === undefined ? undefined : found;
