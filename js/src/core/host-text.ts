/**
 * The host's encoder and decoder of text. In Node they are Node's own, also in a context of node:vm whose globals
 * imitate a page, as test runners have them: there these classes may be missing.
 */

type Text = Pick<typeof globalThis, 'TextDecoder' | 'TextEncoder'>;

const text = (globalThis.process?.getBuiltinModule?.('node:util') as Text | undefined) ?? (globalThis as Text);

export const TextDecoder: Text['TextDecoder'] = text.TextDecoder;
export const TextEncoder: Text['TextEncoder'] = text.TextEncoder;
