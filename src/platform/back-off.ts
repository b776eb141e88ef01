import { BoundedCache } from './bounded-cache.ts';

const BACK_OFF_MS = 5_000;
/** Beyond this number, the oldest key is forgotten and so may be retried early. */
const MAX_KEYS = 10_000;

/**
 * Keys whose last attempt failed: each one is not retried for `pause_ms`, so that it does not delay other keys.
 */
export class BackOff {
  readonly #failed: BoundedCache<string, true>;

  constructor(pause_ms = BACK_OFF_MS) {
    this.#failed = new BoundedCache({ max: MAX_KEYS, ttl: pause_ms });
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
