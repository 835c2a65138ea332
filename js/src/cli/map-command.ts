/**
 * `plait map`: submits each input to a pool, and writes its outcome.
 *
 * Two loops run concurrently: one starts inputs, the other writes results. `#changed` wakes a loop that waits.
 *
 * Invariant: no input is started while `#concurrency` are running, `#window` started inputs are not written yet, or the
 * waiting lines have MOST_HELD characters. So neither a slow reader nor a slow first input fills the memory.
 */

import { Pool } from '../task/pool.ts';
import type { MapArguments } from './args.ts';
import { Inputs } from './inputs.ts';
import { Journal } from './journal.ts';
import {
  describeFailure,
  describeFatal,
  type ErrorRecord,
  errorLine,
  failureLine,
  recordOf,
  resultLine,
} from './json-lines.ts';
import { locateModule, type ModuleName } from './module-name.ts';
import { divertWorkerOutput, isClosed, Output } from './output.ts';
import { Progress } from './progress.ts';
import { UsageError } from './usage-error.ts';

type StopSignal = 'SIGINT' | 'SIGTERM';

/** The reason why a run stopped before all inputs were finished. */
type Stop =
  | { readonly why: StopSignal }
  | { readonly why: 'closed' }
  | { readonly why: 'fatal'; readonly message: string; readonly status: number };

/** The outcome of one input, as the lines to write. */
interface Outcome {
  readonly line: string;
  /** For standard error; empty if the input succeeded. */
  readonly report: string;
}

const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Error codes that would affect every other input, too, with their exit status. */
const FATAL = new Map<unknown, number>([
  ['ERR_PLAIT_MODULE_LOAD', 2],
  ['ERR_PLAIT_NO_SUCH_EXPORT', 2],
  ['ERR_PLAIT_COORDINATOR_DIED', 1],
]);

/** The maximum number of characters to write at once. */
const BATCH = 65_536;

/** While this many characters wait to be written, no further input is started. */
const MOST_HELD = 32 * 1024 * 1024;

/** If a stop takes this long, some worker cannot be interrupted, and the user gets advice. */
const PATIENCE_MS = 1000;

/** An event that any number of loops can wait for. */
class Change {
  #announce = (): void => {};
  #next = this.#renew();

  #renew(): Promise<void> {
    return new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  next(): Promise<void> {
    return this.#next;
  }

  announce(): void {
    this.#announce();
    this.#next = this.#renew();
  }
}

class MapRun {
  readonly #options: MapArguments;
  readonly #module: ModuleName;
  readonly #inputs: Inputs;
  readonly #pool: Pool;
  readonly #stdout: Output;
  readonly #stderr: Output;
  readonly #progress: Progress;
  readonly #journal: Journal | undefined;
  readonly #changed = new Change();
  readonly #began = performance.now();
  readonly #concurrency: number;
  readonly #window: number;
  /** Outcomes to be written, by the place of their input. */
  readonly #ready = new Map<number, Outcome>();
  /** The number of their characters. */
  #held = 0;
  #running = 0;
  #started = 0;
  #written = 0;
  #failed = 0;
  /** In ordered mode: the next place to write. */
  #next = 0;
  #exhausted = false;
  #stop: Stop | undefined;

  constructor(options: MapArguments, module: ModuleName) {
    this.#options = options;
    this.#module = module;
    this.#journal =
      options.resume === undefined
        ? undefined
        : new Journal(options.resume, `${module.url.href}#${module.export}`, (error) => this.#journalFailed(error));
    this.#stdout = new Output(process.stdout, (error) => this.#stdoutFailed(error));
    this.#stderr = new Output(process.stderr, () => {}); // there is no stream left for this error
    const { stderr } = process;
    const showsBar = stderr.isTTY && !options.json && process.env.TERM !== 'dumb';
    divertWorkerOutput((text) => this.#pass(text));
    this.#inputs = new Inputs(options.files, () => process.stdin);
    const { total } = this.#inputs;
    const { threads, timeout, retries } = options;
    this.#pool = new Pool(module.url, {
      threads: threads === undefined ? undefined : Math.min(threads, total ?? threads),
      timeout,
      retries,
    });
    this.#concurrency = Math.max(64, this.#pool.threads * 8);
    this.#window = this.#concurrency * 8;
    this.#progress = new Progress(showsBar ? stderr : undefined, total);
  }

  /** Runs to the end; resolves to the exit status. */
  async run(): Promise<number> {
    let impatience: ReturnType<typeof setTimeout> | undefined;
    const onSignal = (signal: StopSignal): void => {
      if (this.#stop !== undefined && this.#stop.why in SIGNAL_STATUS) exitBySignal(signal);
      this.#end({ why: signal });
      impatience = setTimeout(() => this.#explainWait(), PATIENCE_MS).unref();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    try {
      await Promise.all([this.#startAll(), this.#writeAll()]);
      this.#progress.end();
      await this.#stderr.write(this.#summary());
      await this.#pool.close({ force: this.#stop !== undefined });
      this.#journal?.close();
    } finally {
      clearTimeout(impatience);
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    }
    return this.#status();
  }

  /** Ends the run early. The first reason counts, except that a signal replaces it. */
  #end(stop: Stop): void {
    const isFirst = this.#stop === undefined;
    if (isFirst || stop.why in SIGNAL_STATUS) this.#stop = stop;
    if (!isFirst) return;
    this.#inputs.stop();
    this.#pool.close({ force: true }).catch(() => {}); // run() gets the same error
    this.#changed.announce();
  }

  #stdoutFailed(error: NodeJS.ErrnoException): void {
    if (isClosed(error)) this.#end({ why: 'closed' });
    else this.#end({ why: 'fatal', message: `cannot write to standard output: ${error.message}`, status: 1 });
  }

  #journalFailed({ message }: Error): void {
    this.#end({ why: 'fatal', message: `cannot write to the journal ${this.#options.resume}: ${message}`, status: 1 });
  }

  #explainWait(): void {
    if (this.#options.json) return;
    this.#progress.clear();
    void this.#stderr.write('plait: still stopping; the same again ends it at once\n');
  }

  /** Writes a worker's own output. */
  #pass(text: string): Promise<void> {
    if (text === '') return Promise.resolve();
    this.#progress.clear();
    this.#progress.paused = !text.endsWith('\n');
    return this.#stderr.write(text);
  }

  async #startAll(): Promise<void> {
    try {
      for await (const input of this.#inputs) {
        while (this.#stop === undefined && this.#isFull()) await this.#changed.next();
        if (this.#stop !== undefined) break;
        this.#start(input);
      }
    } catch (error) {
      if (error instanceof UsageError) this.#end({ why: 'fatal', message: error.message, status: 2 });
      else this.#end({ why: 'fatal', message: `cannot read standard input: ${(error as Error).message}`, status: 2 });
    }
    this.#exhausted = true;
    if (this.#stop === undefined) this.#progress.total = this.#started;
    this.#changed.announce();
  }

  #isFull(): boolean {
    if (this.#held >= MOST_HELD) return true;
    return this.#running >= this.#concurrency || this.#started - this.#written >= this.#window;
  }

  #start(input: string): void {
    const known = this.#journal?.take(this.#started, input);
    const place = this.#started++;
    if (known !== undefined) {
      this.#keep(place, known);
      return;
    }
    this.#running++;
    this.#pool.run(input, { name: this.#module.export }).then(
      (value) => this.#settle(place, input, this.#fulfilled(input, value)),
      (reason) => this.#settle(place, input, this.#rejected(input, reason)),
    );
  }

  #settle(place: number, input: string, outcome: Outcome | undefined): void {
    this.#running--;
    if (outcome === undefined) {
      this.#changed.announce();
      return;
    }
    this.#journal?.add(place, { input, ...outcome });
    this.#keep(place, outcome);
  }

  #keep(place: number, outcome: Outcome): void {
    this.#ready.set(place, outcome);
    this.#held += outcome.line.length + outcome.report.length;
    this.#changed.announce();
  }

  #fulfilled(input: string, value: unknown): Outcome {
    try {
      return { line: resultLine(input, value), report: '' };
    } catch (error) {
      return this.#failure(input, recordOf(error));
    }
  }

  /** The outcome of a failed input; undefined if the failure is not the input's own. */
  #rejected(input: string, reason: unknown): Outcome | undefined {
    const record = recordOf(reason);
    const status = FATAL.get(record.code);
    if (status !== undefined) {
      this.#end({ why: 'fatal', message: record.message, status });
      return undefined;
    }
    if (this.#stop !== undefined && record.code === 'ERR_PLAIT_POOL_CLOSED') return undefined;
    return this.#failure(input, record);
  }

  #failure(input: string, error: ErrorRecord): Outcome {
    const report = this.#options.json ? failureLine(input, error) : describeFailure(input, error);
    return { line: errorLine(input, error), report };
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      const ended = this.#exhausted && this.#running === 0;
      let lines = '';
      let reports = '';
      let count = 0;
      while (lines.length + reports.length < BATCH) {
        const outcome = this.#take(ended);
        if (outcome === undefined) break;
        lines += outcome.line;
        reports += outcome.report;
        count++;
        if (outcome.report !== '') this.#failed++;
      }
      if (count > 0) {
        this.#journal?.flush();
        if (reports !== '' || this.#stdout.isTerminal) this.#progress.clear();
        await this.#stdout.write(lines);
        await this.#stderr.write(reports);
        this.#written += count;
        this.#held -= lines.length + reports.length;
        this.#progress.done = this.#written;
        this.#progress.failed = this.#failed;
        this.#changed.announce();
      } else if (ended) {
        return;
      } else {
        await this.#changed.next();
      }
    }
  }

  /** The next outcome to write, if it exists. `ended`: there will be no more. */
  #take(ended: boolean): Outcome | undefined {
    if (!this.#options.ordered) {
      for (const place of this.#ready.keys()) return this.#remove(place);
      return undefined;
    }
    if (ended) while (this.#next < this.#started && !this.#ready.has(this.#next)) this.#next++;
    const outcome = this.#remove(this.#next);
    if (outcome !== undefined) this.#next++;
    return outcome;
  }

  #remove(place: number): Outcome | undefined {
    const outcome = this.#ready.get(place);
    this.#ready.delete(place);
    return outcome;
  }

  #status(): number {
    const stop = this.#stop;
    if (stop?.why === 'fatal') return stop.status;
    if (stop !== undefined && stop.why !== 'closed') return SIGNAL_STATUS[stop.why];
    return this.#failed > 0 ? 1 : 0;
  }

  /** The last line on standard error; empty if there is none. */
  #summary(): string {
    const stop = this.#stop;
    const done = this.#written;
    const failed = this.#failed;
    const total = this.#progress.total;
    if (stop?.why === 'fatal') return describeFatal(stop.message, this.#options.json);
    if (this.#options.json) {
      const seconds = Math.round(performance.now() - this.#began) / 1000;
      const summary = { type: 'summary', done, failed, total: total ?? null, stopped: stop?.why ?? null, seconds };
      return `${JSON.stringify(summary)}\n`;
    }
    if (stop?.why === 'closed') return '';
    if (stop !== undefined) {
      return `plait: stopped: ${done}${total === undefined ? '' : ` of ${total}`} done, ${failed} failed\n`;
    }
    return failed > 0 ? `plait: ${failed} of ${done} failed\n` : '';
  }
}

/** Ends the process by the signal, as if it had no handler: at once, whatever the workers are doing. */
function exitBySignal(signal: StopSignal): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Runs `plait map`; resolves to the exit status. */
export function runMap(options: MapArguments): Promise<number> {
  return new MapRun(options, locateModule(options.module)).run();
}
