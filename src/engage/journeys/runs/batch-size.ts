/** Runs of a batch, at most and at least. */
const MAX_RUNS = 1_000;
const MIN_RUNS = 100;
/** A batch that took longer makes the next ones smaller; a shorter one makes them larger. */
const LONG_MS = 250;
const SHORT_MS = 100;
/** How many runs a batch grows by. */
const GROWTH = 50;

/**
 * How many timers a batch claims. What a run costs depends on its journey: entering may write fifty rows, a wait that
 * is over three. The runs of all other projects wait for the end of a batch, so it must be short.
 */
export class BatchSize {
  #runs = MAX_RUNS;

  get runs(): number {
    return this.#runs;
  }

  /** Takes the time of a batch's transaction, how many timers it claimed, and how many of those it left for another one. */
  note({ took_ms, claimed, left }: { took_ms: number; claimed: number; left: number }): void {
    if (took_ms > LONG_MS || left > 0) this.#runs = Math.max(Math.floor(this.#runs / 2), MIN_RUNS);
    else if (took_ms < SHORT_MS && claimed >= this.#runs) {
      this.#runs = Math.min(this.#runs + GROWTH, MAX_RUNS);
    }
  }
}
