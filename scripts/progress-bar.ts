const WIDTH = 40;
const REDRAW_MS = 50;
/** Without a terminal, a line is written after each such share of the total. */
const STEP = 0.25;

/** Shows progress: on a terminal as one line that is redrawn, otherwise as a few lines. */
export class ProgressBar {
  #label: string;
  #total: number;
  #describe: ((seconds: number) => string) | undefined;
  #done = 0;
  #started_ms = performance.now();
  #drawn_ms = 0;
  #written_share = 0;

  /** `describe` says what was done; by default how many of the total, and how many per second. */
  constructor(label: string, total: number, describe?: (seconds: number) => string) {
    [this.#label, this.#total, this.#describe] = [label, total, describe];
  }

  advance(count: number): void {
    this.#done += count;
    const finished = this.#done >= this.#total;
    if (process.stdout.isTTY) {
      const now_ms = performance.now();
      if (!finished && now_ms - this.#drawn_ms < REDRAW_MS) return;
      this.#drawn_ms = now_ms;
      process.stdout.write(`\r${this.#line()}${finished ? '\n' : ''}`);
      return;
    }
    const share = Math.floor(this.#done / this.#total / STEP) * STEP;
    if (share <= this.#written_share) return;
    this.#written_share = share;
    process.stdout.write(`${this.#line()}\n`);
  }

  #line(): string {
    const share = this.#total === 0 ? 1 : this.#done / this.#total;
    const filled = Math.round(share * WIDTH);
    const seconds = (performance.now() - this.#started_ms) / 1000;
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    const what = this.#describe?.(seconds) ?? this.#counts(seconds);
    return `${this.#label} ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${what}`;
  }

  #counts(seconds: number): string {
    const rate = seconds > 0 ? Math.round(this.#done / seconds) : 0;
    const count = `${this.#done.toLocaleString('en')}/${this.#total.toLocaleString('en')}`;
    return `${count}  ${rate.toLocaleString('en')}/s`;
  }
}
