/**
 * The journal of a run of `plait map`: the outcome of each finished input, so that a killed run can be continued.
 *
 * A file of JSON lines: a header that identifies the run, then one line for each finished input, in the order of
 * completion. A line without its end, left by a kill during a write, is cut off.
 *
 * One run at a time uses the journal: see journal-lock.ts.
 *
 * Invariant: an input is in the journal at most once, and before its result is written anywhere else. So the output of
 * the run that completes has all results, and no input in the journal was run again.
 */

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  realpathSync,
  writeSync,
} from 'node:fs';
import { LockedError, lockJournal } from './journal-lock.ts';
import { lineOf } from './json-lines.ts';
import { UsageError } from './usage-error.ts';

/** The outcome of a finished input. */
export interface JournalEntry {
  readonly input: string;
  /** For standard output. */
  readonly line: string;
  /** For standard error; empty if the input succeeded. */
  readonly report: string;
}

const KIND = 'plait map journal';
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDWR } = constants;

export class Journal {
  readonly #path: string;
  readonly #file: number;
  readonly #unlock: () => void;
  readonly #done = new Map<number, JournalEntry>();
  readonly #onError: (error: Error) => void;
  #unwritten = '';
  #scheduled = false;
  #isBroken = false;

  /**
   * Opens the journal, or creates it. `task` names the function; a journal of another function is refused. `onError` is
   * called once if the journal can no longer be written.
   */
  constructor(path: string, task: string, onError: (error: Error) => void) {
    this.#path = path;
    this.#onError = onError;
    try {
      this.#file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o666);
    } catch (error) {
      throw new UsageError(`cannot open the journal: ${(error as Error).message}`);
    }
    if (!fstatSync(this.#file).isFile()) {
      closeSync(this.#file);
      throw new UsageError(`${path} is no regular file, so it cannot be a journal; name another one`);
    }
    this.#unlock = this.#lock();
    try {
      this.#read(task);
    } catch (error) {
      this.#unlock();
      throw error;
    }
  }

  #lock(): () => void {
    const path = this.#path;
    try {
      return lockJournal(`${realpathSync(path)}.lock`);
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof LockedError) {
        throw new UsageError(
          `${path} is the journal of a run that is under way, process ${error.pid}; wait, or name another file`,
        );
      }
      throw new UsageError(`cannot lock the journal: ${message}`);
    }
  }

  /** Reads the finished inputs, and prepares the file for more. */
  #read(task: string): void {
    const path = this.#path;
    const text = readFileSync(this.#file, 'utf8');
    const beginning = `${JSON.stringify({ kind: KIND, version: 1, task })}\n`;
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const lines = whole.split('\n').slice(0, -1);
    if (lines.length === 0) {
      if (!beginning.startsWith(text)) throw this.#isNone();
      this.#begin(beginning);
      return;
    }
    const [header, ...rest] = lines.map((line, index) => this.#parse(line, index));
    if (header?.kind !== KIND) throw this.#isNone();
    if (header.task !== task) {
      throw new UsageError(`${path} is the journal of ${header.task}, not of ${task}; name another file, or remove it`);
    }
    for (const [index, entry] of rest.entries()) {
      const { place, input, line, report } = entry;
      const texts = [input, line, report];
      if (!Number.isSafeInteger(place) || !texts.every((text) => typeof text === 'string'))
        throw this.#isDamaged(index + 1);
      this.#done.set(place as number, {
        input: input as string,
        line: asOneLine(line as string),
        report: asOneLine(report as string),
      });
    }
    if (whole.length < text.length) ftruncateSync(this.#file, Buffer.byteLength(whole));
  }

  #begin(text: string): void {
    try {
      ftruncateSync(this.#file);
      this.#write(text);
    } catch (error) {
      throw new UsageError(`cannot begin the journal ${this.#path}: ${(error as Error).message}`);
    }
  }

  #isNone(): UsageError {
    return new UsageError(`${this.#path} is no journal of plait map; it is left as it is`);
  }

  #parse(line: string, index: number): Record<string, unknown> {
    let parsed: unknown;
    try {
      parsed = JSON.parse(line);
    } catch {
      // reported below
    }
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
    if (index === 0) throw this.#isNone();
    throw this.#isDamaged(index);
  }

  #isDamaged(index: number): UsageError {
    return new UsageError(`${this.#path} is damaged in line ${index + 1}; it is left as it is`);
  }

  /** The number of finished inputs. */
  get size(): number {
    return this.#done.size;
  }

  /** Removes and returns the outcome of the input at that place; undefined: it is still to be run. */
  take(place: number, input: string): JournalEntry | undefined {
    const entry = this.#done.get(place);
    if (entry === undefined) return undefined;
    if (entry.input !== input) {
      throw new UsageError(
        `input ${place + 1} is ${JSON.stringify(input)}, but ${JSON.stringify(entry.input)} in the journal ${this.#path}: ` +
          'a run continues with the same inputs in the same order',
      );
    }
    this.#done.delete(place);
    return entry;
  }

  /** Adds a finished input. It is in the file after flush(), or after a turn of the event loop. */
  add(place: number, entry: JournalEntry): void {
    this.#unwritten += `${JSON.stringify({ place, ...entry })}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    const text = this.#unwritten;
    this.#unwritten = '';
    if (text === '' || this.#isBroken) return;
    try {
      this.#write(text);
    } catch (error) {
      this.#isBroken = true;
      this.#onError(error as Error);
    }
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
    this.#unlock();
  }
}

/**
 * A line of the journal as this version writes it. The file is untrusted, and its text may go to a terminal.
 */
function asOneLine(text: string): string {
  return text === '' ? '' : lineOf(text.replace(/\n$/, ''));
}
