import { BoundedCache } from './bounded-cache.ts';
import type { Clock } from './clock.ts';

const BACK_OFF_MS = 5_000;
/** Beyond this number, the oldest key is forgotten and so may be retried early. */
const MAX_KEYS = 10_000;

/**
 * Keys whose last attempt failed: each one is not retried for `pause_ms`, so that it does not delay other keys.
 */
export class BackOff {
  readonly #failed: BoundedCache<string, true>;

  /** `clock`: by which the pause is measured; absent: the time of the process. */
  constructor(pause_ms = BACK_OFF_MS, clock?: Clock) {
    const perf = clock === undefined ? {} : { perf: { now: () => clock.now_ms() }, ttlResolution: 0 };
    this.#failed = new BoundedCache({ max: MAX_KEYS, ttl: pause_ms, ...perf });
  }

  /** Starts the back-off of a key now. */
  begin(key: string): void {
    this.#failed.set(key, true);
  }

  /** Whether the key is in back-off now. */
  has(key: string): boolean {
    return this.#failed.has(key);
  }

  /** The keys that are in back-off now. */
  keys(): string[] {
    return [...this.#failed.keys()];
  }
}
