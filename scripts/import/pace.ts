import { setTimeout as sleep } from 'node:timers/promises';

/** The share of the limit by which the rate grows per second, after it was reduced. */
const GROWTH = 0.05;
/** The least rate: one batch in two seconds. */
const LEAST_PER_SECOND = 50;
/** An answer that takes longer says that the service has enough to do. */
const SLOW_MS = 1_000;

/**
 * Spaces the events evenly, so that no burst stands before the events of others. The rate is halved when the service
 * refuses a batch for the moment or answers slowly, at most once a second, and grows back in twenty seconds.
 */
export class Pace {
  readonly #limit: number;
  readonly #now: () => number;
  #rate: number;
  #next_ms = 0;
  #reduced_ms = -Infinity;
  #grown_ms = 0;
  #paused_until_ms = 0;

  /** `per_second` events at most; Infinity: as fast as the answers come, but for the pauses. `now` is monotonic. */
  constructor(per_second: number, now: () => number = () => performance.now()) {
    [this.#limit, this.#rate, this.#now] = [per_second, per_second, now];
    this.#next_ms = this.#grown_ms = now();
  }

  /** Events per second now. */
  get per_second(): number {
    return this.#rate;
  }

  /** How long the next batch has to wait, in milliseconds; what is waited for is taken by {@link take}. */
  get waits_ms(): number {
    return Math.max(0, this.#next_ms - this.#now(), this.#paused_until_ms - this.#now());
  }

  /** Resolves when it is the turn of a batch of so many events. Rejects with the reason of `stop`. */
  async take(events: number, stop: AbortSignal): Promise<void> {
    for (let ms = this.waits_ms; ms > 0; ms = this.waits_ms) await sleep(ms, undefined, { signal: stop });
    const now_ms = this.#now();
    this.#grow(now_ms);
    // What was not used is not made up for: that would be a burst.
    this.#next_ms = Math.max(now_ms, this.#next_ms) + (events * 1_000) / this.#rate;
  }

  /** A batch was answered. */
  answered(took_ms: number): void {
    if (took_ms > SLOW_MS) this.#reduce();
  }

  /** A batch was refused for the moment: no batch is sent for `pause_ms`. */
  refused(pause_ms: number): void {
    this.#reduce();
    this.#paused_until_ms = Math.max(this.#paused_until_ms, this.#now() + pause_ms);
  }

  #reduce(): void {
    const now_ms = this.#now();
    if (this.#limit === Infinity || now_ms - this.#reduced_ms < 1_000) return;
    this.#grow(now_ms);
    this.#reduced_ms = now_ms;
    this.#rate = Math.min(this.#limit, Math.max(LEAST_PER_SECOND, this.#rate / 2));
  }

  #grow(now_ms: number): void {
    if (this.#limit !== Infinity) {
      const grown = this.#rate + (this.#limit * GROWTH * (now_ms - this.#grown_ms)) / 1_000;
      this.#rate = Math.min(this.#limit, grown);
    }
    this.#grown_ms = now_ms;
  }
}
