import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';

/** An answer is given again without computing another for this long after its computation began. */
const FRESH_MS = 10_000;
/** Until then it is given as well, and the next one is computed meanwhile. */
const STALE_MS = 60_000;
/** Characters of all answers at most; a series of 1,000 points has about 50,000. */
const MAX_SIZE = 20_000_000;

interface Answer {
  text: string;
  /** When its computation began: what happened later is not in it. */
  begun_at_ms: number;
}

/**
 * Answers that cost seconds of processor time in ClickHouse, as JSON text, for everyone who asks the same: each is computed
 * at most once in 10 s. Who asks within a minute does not wait: the answer of before is given while the next one is
 * computed, so a screen that asks every 10 s soon shows the new one.
 */
export class RecentAnswers {
  readonly #clock: Clock;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #known = new LRUCache<string, Answer>({
    maxSize: MAX_SIZE,
    sizeCalculation: ({ text }, key) => text.length + key.length,
  });
  readonly #computing = new Map<string, Promise<string>>();

  constructor({ clock, logger }: { clock: Clock; logger: Pick<Logger, 'warn'> }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * `key` names the tenant, the project and the question; `compute` must settle within a limited time. Rejects with its
   * error when no answer of the last minute is known.
   */
  async of(key: string, compute: () => Promise<string>): Promise<string> {
    const known = this.#known.get(key);
    const age_ms = known === undefined ? Infinity : this.#clock.now_ms() - known.begun_at_ms;
    if (known !== undefined && age_ms < FRESH_MS) return known.text;
    const next = this.#computing.get(key) ?? this.#start(key, compute);
    if (known === undefined || age_ms >= STALE_MS) return next;
    next.catch((error: unknown) => {
      this.#logger.warn(
        { err: error },
        'an answer of the overview cannot be computed again; the one of before is given',
      );
    });
    return known.text;
  }

  #start(key: string, compute: () => Promise<string>): Promise<string> {
    const begun_at_ms = this.#clock.now_ms();
    const computing = compute()
      .then((text) => {
        this.#known.set(key, { text, begun_at_ms });
        return text;
      })
      .finally(() => this.#computing.delete(key));
    this.#computing.set(key, computing);
    return computing;
  }
}
