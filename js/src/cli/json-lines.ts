/**
 * Formats outcomes as lines of text: results and errors as JSON, failures for a person to read.
 *
 * Invariant: every function here returns exactly one line without control characters and never throws, whatever the
 * result or error is.
 */

/** An error as it is written. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: ErrorRecord;
}

/** The maximum depth of causes: enough for an explanation, and a limit for an error that is its own cause. */
const MOST_CAUSES = 8;

/** Replaces `value` in JSON, where JSON.stringify alone would lose information or throw. */
function replace(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (value instanceof Map || value instanceof Set) return [...value];
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Uint8Array || value instanceof DataView) return base64(value);
    return Array.from(value as unknown as ArrayLike<unknown>);
  }
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return base64(new Uint8Array(value));
  if (value instanceof Error) return recordOf(value);
  if (value instanceof RegExp || value instanceof BigInt) return String(value);
  return value;
}

function base64(view: ArrayBufferView): { base64: string } {
  return { base64: Buffer.from(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength).toString('base64') };
}

/** The line for an input whose call returned `output`; throws an Error that explains why it cannot be written. */
export function resultLine(input: string, output: unknown): string {
  return lineOf(`{"input":${JSON.stringify(input)},"output":${encode(output)}}`);
}

/**
 * A text as one line without control sequences for a terminal. JSON keeps its meaning: the control characters that
 * JSON.stringify leaves are in strings, where an escape means the same.
 */
export function lineOf(text: string): string {
  return `${visible(text)}\n`;
}

function encode(value: unknown): string {
  try {
    return JSON.stringify(value, replace) ?? 'null';
  } catch (error) {
    throw new TypeError(`the result cannot be written as JSON: ${whyNot(error)}`);
  }
}

function whyNot(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply, contains itself, or is too long';
  const message = error instanceof Error ? error.message : String(error);
  return message.includes('circular') ? 'it contains itself' : message;
}

/** The line for an input whose call failed. */
export function errorLine(input: string, error: ErrorRecord): string {
  const { stack: _, ...rest } = error;
  return lineOf(JSON.stringify({ input, error: rest }));
}

/** The line that reports a failure to a program, with the stack. */
export function failureLine(input: string, error: ErrorRecord): string {
  return lineOf(JSON.stringify({ type: 'failure', input, error }));
}

/** The line that reports a failure to a person. */
export function describeFailure(input: string, error: ErrorRecord): string {
  let text = `${error.name}: ${error.message}`;
  for (let cause = error.cause; cause !== undefined; cause = cause.cause) {
    // Some messages already contain the cause's message.
    if (!text.includes(cause.message)) text += ` (caused by ${cause.name}: ${cause.message})`;
  }
  return lineOf(`plait: ${input}: ${text}`);
}

/** The line for an error that ended the whole run. */
export function describeFatal(message: string, json: boolean): string {
  return lineOf(json ? JSON.stringify({ type: 'fatal', message }) : `plait: ${message}`);
}

/** Escapes control characters: the text stays on one line, and does not control the terminal. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are to be replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short.length > 1 ? short : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Describes a thrown value of any type. */
export function recordOf(thrown: unknown, depth = 0): ErrorRecord {
  if (!(thrown instanceof Error)) return { name: 'Error', message: describeValue(thrown) };
  const { name, message, stack, cause } = thrown;
  const { code } = thrown as { code?: unknown };
  return {
    name: String(name),
    message: String(message),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(depth === 0 && typeof stack === 'string' && { stack }),
    ...(cause !== undefined && depth < MOST_CAUSES && { cause: recordOf(cause, depth + 1) }),
  };
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value, replace) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
