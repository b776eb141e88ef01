import { ApiError } from '../errors.ts';
import type { Maybe } from './auth/maybe.ts';
import { isTableLocked } from '../platform/postgres/retry.ts';
import { Bulkhead } from '../platform/bulkhead.ts';
import type { QueueLimits } from '../platform/fair-queue.ts';

/** How many requests of one endpoint run at once, and how many wait. */
export interface BulkheadLimits {
  max_running: number;
  /** How many of one tenant run at once; absent: as many as of all. */
  max_running_of_tenant?: number;
  waiting: QueueLimits;
}

/** Requests of one endpoint at once: fewer than there are connections in a pool, so that others always get one. */
export const LIMITS: BulkheadLimits = { max_running: 6, waiting: { max_waiting: 1_000, max_wait_ms: 3_000 } };
/** For an endpoint whose requests share transactions, and take turns for as many connections as {@link LIMITS} allows. */
export const GROUPED_LIMITS: BulkheadLimits = { ...LIMITS, max_running: 64, max_running_of_tenant: 32 };
/** For an endpoint whose requests keep a connection for seconds: most connections remain for the others. */
export const SLOW_LIMITS: BulkheadLimits = {
  max_running: 3,
  waiting: { max_waiting: 100, max_wait_ms: 10_000 },
};
/** For an endpoint whose requests must always run, or use no connections that other endpoints need. */
export const UNBOUNDED: BulkheadLimits = { ...LIMITS, max_running: Infinity };
/** After a table was found locked, requests are refused for this long; then one of them tries again. */
const REST_MS = 1_000;
/** How long one request tries alone. */
const TRIAL_MS = 15_000;

/**
 * Limits what the requests of one endpoint hold, so that an endpoint that cannot go on does not stop the others. At most
 * 6 run at once and 1,000 wait, 3 s at most, or what its limits say. Tenants take turns, and the requests of one tenant
 * take at most half of the room to wait in, so a tenant that sends many does not stop the others. While a table that the endpoint
 * needs is locked as a whole, one request at a time finds out whether it still is, and the others are refused at once.
 */
export class EndpointBulkhead {
  readonly #bulkhead: Bulkhead;
  #is_tripped = false;
  #rests_until_ms = 0;

  constructor({ max_running, max_running_of_tenant, waiting }: BulkheadLimits = LIMITS) {
    const limits = { ...waiting, max_waiting_of_group: Math.ceil(waiting.max_waiting / 2) };
    const what = 'other requests of this endpoint';
    this.#bulkhead = new Bulkhead(what, max_running, limits, max_running_of_tenant);
  }

  /**
   * Runs `work` now or later. Rejects or throws SERVICE_UNAVAILABLE or TooBusy when `work` was not begun. `tenant_id` is
   * the caller's; callers without a known tenant are treated as one tenant. `is_brief`: `work` waits for locks so briefly
   * that its failure does not show that a table is locked; what it was for is run again with a longer wait.
   */
  run<T>(tenant_id: string | undefined, work: () => Maybe<T>, is_brief = false): Maybe<T> {
    const turn = this.#bulkhead.enter(tenant_id);
    const begin = () => this.#work(tenant_id, work, is_brief);
    return turn === undefined ? begin() : turn.then(begin);
  }

  #work<T>(tenant_id: string | undefined, work: () => Maybe<T>, is_brief: boolean): Maybe<T> {
    let result: Maybe<T>;
    try {
      this.#refuseWhileLocked();
      result = work();
    } catch (error) {
      this.#bulkhead.leave(tenant_id);
      throw error;
    }
    if (!(result instanceof Promise)) {
      this.#bulkhead.leave(tenant_id);
      return result;
    }
    return result.then(
      (value) => {
        this.#bulkhead.leave(tenant_id);
        this.#is_tripped = false;
        return value;
      },
      (error: unknown) => {
        this.#bulkhead.leave(tenant_id);
        this.#noteFailure(isTableLocked(error), is_brief);
        throw error;
      },
    );
  }

  #noteFailure(is_locked: boolean, is_brief: boolean): void {
    if (is_locked && is_brief) {
      // If it was the trial, the next request is another one.
      this.#rests_until_ms = 0;
      return;
    }
    this.#is_tripped = is_locked;
    this.#rests_until_ms = performance.now() + REST_MS;
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
}
