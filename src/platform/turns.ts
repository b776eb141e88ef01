import { BoundedCache } from './bounded-cache.ts';
import { retryPauseMs } from './retry-pause.ts';

const BACK_OFF = { first_ms: 1_000, longest_ms: 60_000 };
/** Beyond this number, what is known about the key that was served longest ago is forgotten. */
const MAX_KEYS = 10_000;

/** What is known about a key; times are of the process's monotonic clock (`performance.now`). */
interface Served {
  last_ms: number;
  failures: number;
  retry_ms: number;
}

/** The settings of {@link Turns}. */
export interface TurnOptions<Item> {
  /** Items of one key are served one at a time. */
  keyOf: (item: Item) => string;
  max_running: number;
  /** Called for each item that fails; its key is not served again for 1 s, 2 s … 60 s. */
  onFailure: (item: Item, error: unknown) => void;
}

/**
 * Serves items, several at a time, those first that were served longest ago: an item that is slow, fails or always has
 * work does not hold up others.
 */
export class Turns<Item> {
  readonly #options: TurnOptions<Item>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #served = new BoundedCache<string, Served>({ max: MAX_KEYS });

  constructor(options: TurnOptions<Item>) {
    this.#options = options;
  }

  /**
   * Starts as many items as may run now, in the background. `serve` resolves with whether there was work. `onEnd` is
   * called with that, or with false after a failure, when an item has ended and another could start.
   */
  start(
    items: readonly Item[],
    serve: (item: Item) => Promise<boolean>,
    onEnd: (worked: boolean) => void,
  ): void {
    const { keyOf, max_running } = this.#options;
    const now_ms = performance.now();
    const waiting = items
      .map((item) => ({ item, key: keyOf(item) }))
      .filter(({ key }) => (this.#served.peek(key)?.retry_ms ?? 0) <= now_ms)
      .sort((a, b) => this.#lastOf(a.key) - this.#lastOf(b.key));
    for (const { item, key } of waiting) {
      if (this.#running.size >= max_running) return;
      if (!this.#running.has(key)) void this.#run(item, key, serve, onEnd);
    }
  }

  /** Serves every item once; resolves when all have ended, with whether any of them had work. */
  async serveAll(items: readonly Item[], serve: (item: Item) => Promise<boolean>): Promise<boolean> {
    const waiting = [...items];
    let has_worked = false;
    const worker = async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
        await this.#run(item, this.#options.keyOf(item), serve, (worked) => (has_worked ||= worked));
      }
    };
    await Promise.all(Array.from({ length: this.#options.max_running }, worker));
    return has_worked;
  }

  /** Resolves when all running items have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #lastOf(key: string): number {
    return this.#served.peek(key)?.last_ms ?? Number.NEGATIVE_INFINITY;
  }

  #run(
    item: Item,
    key: string,
    serve: (item: Item) => Promise<boolean>,
    onEnd: (worked: boolean) => void,
  ): Promise<void> {
    const { failures = 0 } = this.#served.peek(key) ?? {};
    this.#served.set(key, { last_ms: performance.now(), failures, retry_ms: 0 });
    const ended = serve(item)
      .then(
        (worked) => {
          this.#served.set(key, { last_ms: performance.now(), failures: 0, retry_ms: 0 });
          return worked;
        },
        (error: unknown) => {
          const now_ms = performance.now();
          const pause_ms = retryPauseMs(BACK_OFF, { attempt: failures + 1 });
          this.#served.set(key, { last_ms: now_ms, failures: failures + 1, retry_ms: now_ms + pause_ms });
          this.#options.onFailure(item, error);
          return false;
        },
      )
      .then((worked) => {
        this.#running.delete(key);
        onEnd(worked);
      });
    this.#running.set(key, ended);
    return ended;
  }
}
