import { LRUCache } from 'lru-cache';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

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
  /** Until then no other is computed: later than usual when that failed. */
  fresh_until_ms: number;
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
  readonly #known = new LRUCache<string, Answer>({
    maxSize: MAX_SIZE,
    sizeCalculation: ({ text }, key) => text.length + key.length,
  });
  readonly #computing = new Map<string, Promise<string>>();
  /** The last question of each project that nobody waits for. */
  readonly #lines = new Map<string, Promise<unknown>>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Rejects with the error of `compute` when no answer of the last minute is known. */
  async of(project: ProjectRef, question: readonly unknown[], compute: Compute): Promise<string> {
    const owner = `${project.tenant_id} ${project.project_id}`;
    const key = `${owner} ${JSON.stringify(question)}`;
    const known = this.#known.get(key);
    const now_ms = this.#deps.clock.now_ms();
    if (known !== undefined && now_ms < known.fresh_until_ms) return known.text;
    const is_given = known !== undefined && now_ms - known.begun_at_ms < STALE_MS;
    const clickhouse = is_given ? this.#oneByOne(owner) : this.#deps.clickhouse;
    const next = this.#computing.get(key) ?? this.#start(key, compute(clickhouse));
    if (!is_given) return next;
    // Logged once, by the computation itself.
    next.catch(() => undefined);
    return known.text;
  }

  #start(key: string, computed: Promise<string>): Promise<string> {
    const begun_at_ms = this.#deps.clock.now_ms();
    const computing = computed
      .then(
        (text) => {
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

  #oneByOne(owner: string): ClickHouseQueries {
    return {
      query: (sql, params) => {
        const answer = (this.#lines.get(owner) ?? Promise.resolve()).then(() =>
          this.#deps.clickhouse.query<never>(sql, params),
        );
        const line = answer
          .catch(() => undefined)
          .then(() => {
            if (this.#lines.get(owner) === line) this.#lines.delete(owner);
          });
        this.#lines.set(owner, line);
        return answer;
      },
    };
  }

  /** The answer of before is given for as long as one that was computed would be, but not beyond its own minute. */
  #failed(key: string, begun_at_ms: number, error: unknown): void {
    const known = this.#known.peek(key);
    if (known === undefined) return;
    known.fresh_until_ms = Math.min(begun_at_ms + FRESH_MS, known.begun_at_ms + STALE_MS);
    this.#deps.logger.warn({ err: error }, 'an answer of the overview could not be computed again');
  }
}
