/**
 * The name of the function that a task calls, as it is in shared memory: an export of the pool's module, an export of
 * another module, or the source of a function.
 *
 * Invariant: the first byte tells the three apart. 0xfe and 0xff never occur in UTF-8, so no export's name can look
 * like source or like another module's function.
 */

import { TextDecoder, TextEncoder } from '../core/host-text.ts';

/** What a name means. `module`: the JSON of a module's URL and the export's name; see {@link nameIn}. */
export type NameForm = 'export' | 'module' | 'source';

const SIGNS: Readonly<Record<NameForm, number | undefined>> = { export: undefined, module: 0xfe, source: 0xff };

/** The name of another module's export. */
export function nameIn(module: string, name: string): string {
  return JSON.stringify([module, name]);
}

/** The module's URL and the export's name in such a name. */
export function partsOf(name: string): readonly [module: string, name: string] {
  return JSON.parse(name) as [string, string];
}

export function encodeName(name: string, form: NameForm): Uint8Array {
  const text = new TextEncoder().encode(name);
  const sign = SIGNS[form];
  if (sign === undefined) return text;
  const bytes = new Uint8Array(text.length + 1);
  bytes[0] = sign;
  bytes.set(text, 1);
  return bytes;
}

/** Decodes such bytes. */
export function decodeName(bytes: Uint8Array): { name: string; form: NameForm } {
  const form = bytes[0] === SIGNS.source ? 'source' : bytes[0] === SIGNS.module ? 'module' : 'export';
  const text = form === 'export' ? bytes : bytes.subarray(1);
  return { name: new TextDecoder('utf-8', { ignoreBOM: true }).decode(text), form };
}
