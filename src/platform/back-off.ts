import { LRUCache } from 'lru-cache';

const BACK_OFF_MS = 5_000;
/** Beyond this number, the oldest key is forgotten and so may be retried early. */
const MAX_KEYS = 10_000;

/** Keys whose last attempt failed: each one is not retried for 5 seconds, so that it does not delay other keys. */
export class BackOff {
  readonly #failed = new LRUCache<string, true>({ max: MAX_KEYS, ttl: BACK_OFF_MS });

  /** Starts the back-off of a key now. */
  begin(key: string): void {
    this.#failed.set(key, true);
  }

  /** The keys that are in back-off now. */
  keys(): string[] {
    return [...this.#failed.keys()];
  }
}
