import { LRUCache } from 'lru-cache';
import type { ClickHouseQueries } from '../platform/clickhouse/port.ts';
import { QuestionLines } from '../platform/clickhouse/question-lines.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { exactJson } from '../platform/exact-json.ts';

/** An answer is given again without computing another for this long after its computation began. */
const FRESH_MS = 10_000;
/** Until then it is given as well, and the next one is computed meanwhile. */
const STALE_MS = 60_000;
/** What took so long to compute is dear. */
const DEAR_MS = 2_000;
/** Characters of all answers at most; a series of 1,000 points has about 50,000. */
const MAX_SIZE = 20_000_000;

interface Answer {
  text: string;
  /** When its computation began: what happened later is not in it. */
  begun_at_ms: number;
  /** Until then no other is computed: later than usual when that failed. */
  fresh_until_ms: number;
}

/** An answer as it is given. */
export interface RecentAnswer {
  /** JSON. */
  text: string;
  /** Whether the next one is being computed: who asks again soon gets it. */
  is_stale: boolean;
}

interface Deps {
  clickhouse: ClickHouseQueries;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/** Makes an answer by asking ClickHouse; it must settle within a limited time. */
type Compute = (clickhouse: ClickHouseQueries) => Promise<string>;

/**
 * Answers that cost seconds of processor time in ClickHouse, as JSON text, for everyone who asks the same: each is computed
 * at most once in 10 s. Who asks within a minute does not wait: the answer of before is given while the next one is
 * computed, so a screen that asks every 10 s soon shows the new one. What nobody waits for asks ClickHouse one question of the
 * project at a time, so that others of it find their way between.
 */
export class RecentAnswers {
  readonly #deps: Deps;
  readonly #only_dear: boolean;
  readonly #known = new LRUCache<string, Answer>({
    maxSize: MAX_SIZE,
    sizeCalculation: ({ text }, key) => text.length + key.length,
  });
  readonly #computing = new Map<string, Promise<string>>();
  readonly #lines: QuestionLines;

  /**
   * `only_dear`: for callers who read what they have just caused. An answer is given again only if its computation took 2 s or
   * longer, and never while the next one is computed.
   */
  constructor(deps: Deps, { only_dear = false } = {}) {
    this.#deps = deps;
    this.#only_dear = only_dear;
    this.#lines = new QuestionLines(deps.clickhouse);
  }

  /** Rejects with the error of `compute` when no answer of the last minute is known. */
  async of(project: ProjectRef, question: readonly unknown[], compute: Compute): Promise<RecentAnswer> {
    const owner = `${project.tenant_id} ${project.project_id}`;
    // Questions that differ beyond what a double holds are two.
    const key = `${owner} ${exactJson(question)}`;
    const known = this.#known.get(key);
    const now_ms = this.#deps.clock.now_ms();
    if (known !== undefined && now_ms < known.fresh_until_ms) return { text: known.text, is_stale: false };
    const is_given = !this.#only_dear && known !== undefined && now_ms - known.begun_at_ms < STALE_MS;
    const clickhouse = is_given ? this.#lines.of(owner) : this.#deps.clickhouse;
    const next = this.#computing.get(key) ?? this.#start(key, compute(clickhouse));
    if (!is_given) return { text: await next, is_stale: false };
    // Logged once, by the computation itself.
    next.catch(() => undefined);
    return { text: known.text, is_stale: true };
  }

  #start(key: string, computed: Promise<string>): Promise<string> {
    const begun_at_ms = this.#deps.clock.now_ms();
    const computing = computed
      .then(
        (text) => {
          const took_ms = this.#deps.clock.now_ms() - begun_at_ms;
          if (!this.#only_dear || took_ms >= DEAR_MS)
            this.#known.set(key, { text, begun_at_ms, fresh_until_ms: begun_at_ms + FRESH_MS });
          return text;
        },
        (error: unknown) => {
          this.#failed(key, begun_at_ms, error);
          throw error;
        },
      )
      .finally(() => this.#computing.delete(key));
    this.#computing.set(key, computing);
    return computing;
  }

  /** The answer of before is given for as long as one that was computed would be, but not beyond its own minute. */
  #failed(key: string, begun_at_ms: number, error: unknown): void {
    const known = this.#known.peek(key);
    // Who waited got the error.
    if (known === undefined || this.#only_dear) return;
    known.fresh_until_ms = Math.min(begun_at_ms + FRESH_MS, known.begun_at_ms + STALE_MS);
    this.#deps.logger.warn({ err: error }, 'an answer from ClickHouse could not be computed again');
  }
}
