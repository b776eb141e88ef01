import { LRUCache } from 'lru-cache';

const BACK_OFF_MS = 5_000;
/** Beyond these the oldest is tried again early. */
const MAX_KEYS = 10_000;

/** Keys whose last attempt failed: each is left alone for 5 seconds, so that it holds up nothing else. */
export class BackOff {
  readonly #failed = new LRUCache<string, true>({ max: MAX_KEYS, ttl: BACK_OFF_MS });

  /** The key backs off from now on. */
  begin(key: string): void {
    this.#failed.set(key, true);
  }

  /** The keys that back off now. */
  keys(): string[] {
    return [...this.#failed.keys()];
  }
}
