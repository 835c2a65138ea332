/**
 * What Plait needs from its host, and the errors for missing features.
 *
 * Invariant: no module throws such an error while it is imported. A program may import Plait where it cannot run; the
 * error comes at the first use.
 */

import { PlaitError } from './errors.ts';
import { host } from './host.ts';

/** False for a Node that is too old for Plait, which is treated as a page. */
const isNode = host.builtin('node:process') !== undefined;

/**
 * Throws if this host can never have a space.
 *
 * @throws {PlaitError} ERR_PLAIT_NOT_ISOLATED, ERR_PLAIT_UNSUPPORTED
 */
export function mustBeSupported(): void {
  const node: unknown = globalThis.process?.versions?.node;
  if (!isNode && typeof node === 'string' && typeof document === 'undefined') {
    throw unsupported(`Plait needs Node 20.19 or later, or 22.3 or later: this is Node ${node}`);
  }
  if (typeof WebAssembly === 'undefined') throw unsupported('Plait needs WebAssembly, which is not there');
  if (typeof SharedArrayBuffer !== 'undefined') return;
  if (isNode || globalThis.crossOriginIsolated) {
    const where = isNode ? 'this process' : 'this page is cross-origin isolated, but its browser';
    throw unsupported(`${where} has no SharedArrayBuffer, which Plait needs`);
  }
  throw new PlaitError(
    'ERR_PLAIT_NOT_ISOLATED',
    'this page has no shared memory: serve it with the headers Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp',
  );
}

/** The error if the host does not compile or run the core, because of a policy, an old engine, or too little memory. */
export function wasmRefused(cause: unknown): PlaitError {
  const reason = String((cause as Error)?.message ?? cause);
  if (cause instanceof RangeError || /out of memory/i.test(reason)) {
    const message = `the host has no memory for compiled code: ${reason}`;
    return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', message, { cause });
  }
  const advice = !isNode ? ". A Content-Security-Policy must allow it: script-src 'wasm-unsafe-eval'" : '';
  return unsupported(`the host refuses to run WebAssembly: ${reason}${advice}`, cause);
}

function unsupported(message: string, cause?: unknown): PlaitError {
  return new PlaitError('ERR_PLAIT_UNSUPPORTED', message, cause === undefined ? undefined : { cause });
}
