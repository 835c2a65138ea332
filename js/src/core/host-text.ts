/**
 * The host's encoder and decoder of text. In Node they are Node's own, even in a context of node:vm whose globals
 * imitate a page, as in test runners: these classes may be missing there.
 */

type Text = Pick<typeof globalThis, 'TextDecoder' | 'TextEncoder'>;

const text = (globalThis.process?.getBuiltinModule?.('node:util') as Text | undefined) ?? (globalThis as Text);

export const TextDecoder: Text['TextDecoder'] = text.TextDecoder;
export const TextEncoder: Text['TextEncoder'] = text.TextEncoder;
