import { ApiError } from '../errors.ts';
import type { Maybe } from '../auth/maybe.ts';
import { isTableLocked } from '../platform/postgres/retry.ts';
import { WaitingLine } from '../platform/waiting-line.ts';

/** Requests of one endpoint at once: fewer than there are connections in a pool, so that others always get one. */
const MAX_RUNNING = 6;
const WAITING = { max_waiting: 500, max_wait_ms: 3_000 };
/** After a table was found locked, requests are refused for this long; then one of them tries again. */
const REST_MS = 1_000;
/** How long one request tries alone. */
const TRIAL_MS = 15_000;

/**
 * Limits what the requests of one endpoint hold, so that an endpoint that cannot go on does not stop the others. At most
 * 6 run at once and 500 wait, 3 s at most. While a table that the endpoint needs is locked as a whole, one request at a
 * time finds out whether it still is, and the others are refused at once.
 */
export class RouteLane {
  readonly #max_running: number;
  readonly #line = new WaitingLine<void>('other requests of this endpoint', WAITING);
  #running = 0;
  #is_tripped = false;
  #rests_until_ms = 0;

  /** `max_running`: `Infinity` for an endpoint whose requests take seconds and use no connections that others need. */
  constructor(max_running = MAX_RUNNING) {
    this.#max_running = max_running;
  }

  /** Runs `work` now or later. Rejects or throws SERVICE_UNAVAILABLE or TooBusy when `work` was not begun. */
  run<T>(work: () => Maybe<T>): Maybe<T> {
    if (this.#running < this.#max_running) {
      this.#running++;
      return this.#work(work);
    }
    return this.#line.join().then(() => this.#work(work));
  }

  #work<T>(work: () => Maybe<T>): Maybe<T> {
    let result: Maybe<T>;
    try {
      this.#refuseWhileLocked();
      result = work();
    } catch (error) {
      this.#leave();
      throw error;
    }
    if (!(result instanceof Promise)) {
      this.#leave();
      return result;
    }
    return result.then(
      (value) => {
        this.#leave();
        this.#is_tripped = false;
        return value;
      },
      (error: unknown) => {
        this.#leave();
        this.#is_tripped = isTableLocked(error);
        this.#rests_until_ms = performance.now() + REST_MS;
        throw error;
      },
    );
  }

  #refuseWhileLocked(): void {
    if (!this.#is_tripped) return;
    const now_ms = performance.now();
    if (now_ms < this.#rests_until_ms) {
      throw new ApiError('SERVICE_UNAVAILABLE', 'a table that this request needs is locked now', {
        retry_after_s: Math.ceil(REST_MS / 1_000),
      });
    }
    this.#rests_until_ms = now_ms + TRIAL_MS;
  }

  #leave(): void {
    if (!this.#line.serve()) this.#running--;
  }
}
