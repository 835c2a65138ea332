/**
 * The progress bar on a terminal.
 *
 * Invariant: the bar is the whole line of the cursor, or not on the screen. Code that writes to the terminal must call
 * clear() first; the bar is redrawn by itself.
 */

/** The figures in the bar. */
export interface ProgressState {
  readonly done: number;
  readonly failed: number;
  /** Undefined while it is not known. */
  readonly total: number | undefined;
  /** Inputs per second. */
  readonly rate: number;
}

/** The part of a terminal's stream that the bar uses. */
export interface Screen {
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
/** The rate is measured over this many redraws, about 10 s, because older speed predicts little. */
const SAMPLES = 100;
const WIDEST_BAR = 30;
const NARROWEST_BAR = 5;
const CLEAR_LINE = '\r\u001b[K';

/** The text of the bar, shorter than `columns`, because a full line wraps on some terminals. */
export function progressLine(state: ProgressState, columns: number): string {
  const { done, failed, total, rate } = state;
  const parts = [total === undefined ? `${done} done` : `${done}/${total}`];
  if (failed > 0) parts.push(`${failed} failed`);
  parts.push(`${rate >= 100 ? Math.round(rate) : rate.toFixed(1)}/s`);
  if (total !== undefined && rate > 0) parts.push(`${duration((total - done) / rate)} left`);
  const text = parts.join('  ');
  const room = Math.min(columns - 1 - text.length - 3, WIDEST_BAR);
  if (total === undefined || total === 0 || room < NARROWEST_BAR) return text.slice(0, Math.max(columns - 1, 0));
  const filled = Math.floor((done / total) * room);
  return `[${'#'.repeat(filled)}${'-'.repeat(room - filled)}] ${text}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
  const minutes = Math.floor(whole / 60);
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`;
}

export class Progress {
  done = 0;
  failed = 0;
  total: number | undefined;
  /** True while a line of other output is incomplete: the bar would overwrite it. */
  paused = false;

  readonly #screen: Screen | undefined;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  readonly #samples: { readonly at: number; readonly done: number }[] = [];
  #shown = '';

  /** Without a screen, it only counts. */
  constructor(screen: Screen | undefined, total: number | undefined) {
    this.#screen = screen;
    this.total = total;
    if (screen === undefined) return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  #draw(): void {
    const at = performance.now();
    this.#samples.push({ at, done: this.done });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    const first = this.#samples[0]!;
    const rate = at > first.at ? ((this.done - first.done) / (at - first.at)) * 1000 : 0;
    const line = progressLine({ ...this, rate }, this.#screen?.columns || 80);
    if (this.paused || line === this.#shown) return;
    this.#shown = line;
    this.#screen?.write(CLEAR_LINE + line);
  }

  /** Removes the bar from the screen until the next redraw. */
  clear(): void {
    if (this.#shown === '') return;
    this.#shown = '';
    this.#screen?.write(CLEAR_LINE);
  }

  /** Removes the bar from the screen permanently. */
  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }
}
