import { WaitingLine, type WaitingLimits } from './waiting-line.ts';

/** After each piece of work the event loop is free for so many times as long as the piece took. */
const REST = 4;

/**
 * Runs pieces of work that hold the event loop for milliseconds: one at a time, with rests, so that whatever else the
 * process does has four fifths of the loop. Keys take turns, so one that always has work holds up no other.
 */
export class LoopShare {
  readonly #lines = new Map<string, WaitingLine<void>>();
  #is_taken = false;

  /**
   * Runs `work` when it is its turn; `limits` are about the callers of the same key. Rejects with TooBusy, or with what
   * `work` throws.
   */
  async run<T>(key: string, limits: WaitingLimits, work: () => T): Promise<T> {
    if (this.#is_taken) await this.#lineOf(key, limits).join();
    this.#is_taken = true;
    const started_ms = performance.now();
    try {
      return work();
    } finally {
      setTimeout(() => this.#next(), (performance.now() - started_ms) * REST);
    }
  }

  #lineOf(key: string, limits: WaitingLimits): WaitingLine<void> {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new WaitingLine('the share of the process that this work may take', limits);
      this.#lines.set(key, line);
    }
    return line;
  }

  /** Serves the key that waits longest for its turn, which then goes behind the others. */
  #next(): void {
    for (const [key, line] of this.#lines) {
      this.#lines.delete(key);
      if (!line.serve()) continue;
      if (!line.isEmpty) this.#lines.set(key, line);
      return;
    }
    this.#is_taken = false;
  }
}
