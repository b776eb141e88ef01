import type { Fragment } from 'postgres';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { withinTime } from '../time-limit.ts';
import type { Db, Tx } from './port.ts';

/**
 * A query that returns a row while there is work; the loop that waits for it then looks for itself. It may find work
 * that cannot be done yet, but must not miss any: what it misses waits for the loop's longest pause. It is asked several
 * times a second, so it reads one row of an index, however many wait.
 */
export type WorkQuery = (sql: Tx, now: Date) => Fragment;

/** The work of one loop, or of several loops that share it. */
export interface WatchedWork {
  /**
   * Resolves when work waits, when it cannot be known whether any does, after `longest_ms`, or when `signal` is aborted.
   * It never rejects.
   */
  untilFound(signal: AbortSignal, longest_ms: number): Promise<void>;
}

/** Wakes the loops of a process when work waits for them in Postgres. */
export interface WorkWatch {
  /** `clock`: by which the loop judges what is due. */
  watch(query: WorkQuery, clock: Clock): WatchedWork;
  /** Work may have come: this process was asked to write, or has read new events. Ends the pauses of a quiet service. */
  wake(): void;
}

interface Options {
  sql: Db;
  logger: Logger;
}

/** What one loop waits for, and its clock. */
interface Watched {
  query: WorkQuery;
  clock: Clock;
}

/** The pauses between two statements, by the time since the last activity. */
const PAUSES = [
  { below_ms: 1_000, pause_ms: 100 },
  { below_ms: 10_000, pause_ms: 250 },
];
/** The pause after a longer time: what comes due then, or is written by another process, may be so late. */
const QUIET_PAUSE_MS = 1_000;
/** The longest wait for the answer, also when the connection is dead and the server cannot say so. */
const ANSWER_MS = 2_000;
/** After a failure nothing is asked for so long: each loop looks for itself at its own pause. */
const UNKNOWN_FOR_MS = 5_000;
/** A loop that begins to wait shortens the pause, but not below this: many loops may begin one after the other. */
const SHORTEST_PAUSE_MS = 40;

/**
 * Asks the queries of all loops of a process in one statement, as long as a loop waits. Without it, each of some thirty
 * loops asks on its own, several times a second. When the statement fails, every loop looks for itself, at its own
 * pause. A query stays watched as long as the process runs.
 */
export function openWorkWatch(options: Options): WorkWatch {
  return new OneStatement(options);
}

class OneStatement implements WorkWatch {
  readonly #options: Options;
  readonly #watched: Watched[] = [];
  /** What ends a wait, with the index of the query that is waited for. */
  readonly #waiting = new Map<() => void, number>();
  /** Ends the pause between two statements: another loop waits, or a wake came. */
  #woken = new AbortController();
  #is_running = false;
  /** When work was found, or a wake came. */
  #last_activity_ms = performance.now();
  #unknown_until_ms = Number.NEGATIVE_INFINITY;
  #has_failed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  watch(query: WorkQuery, clock: Clock): WatchedWork {
    const index = this.#watched.push({ query, clock }) - 1;
    return { untilFound: (signal, longest_ms) => this.#untilFound(index, signal, longest_ms) };
  }

  wake(): void {
    // Otherwise the pause is short anyway, and a busy service wakes often.
    if (this.#pauseMs() === QUIET_PAUSE_MS) this.#woken.abort();
    this.#last_activity_ms = performance.now();
  }

  #pauseMs(): number {
    const since_ms = performance.now() - this.#last_activity_ms;
    return PAUSES.find(({ below_ms }) => since_ms < below_ms)?.pause_ms ?? QUIET_PAUSE_MS;
  }

  #untilFound(index: number, signal: AbortSignal, longest_ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(end);
        clearTimeout(longest);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const longest = setTimeout(end, longest_ms);
      if (signal.aborted) return end();
      signal.addEventListener('abort', end, { once: true });
      this.#waiting.set(end, index);
      this.#woken.abort();
      if (!this.#is_running) void this.#run();
    });
  }

  /** Runs while a loop waits; never rejects. */
  async #run(): Promise<void> {
    this.#is_running = true;
    // When a service starts, its loops begin one after the other. Each further query makes another statement to plan.
    await sleep(SHORTEST_PAUSE_MS);
    while (this.#waiting.size > 0) {
      this.#woken = new AbortController();
      const asked = [...this.#waiting];
      const found = await this.#ask();
      const ended = asked.filter(([, index]) => found.has(index));
      for (const [end] of ended) end();
      if (ended.length > 0) this.#last_activity_ms = performance.now();
      await this.#pause();
    }
    this.#is_running = false;
  }

  async #pause(): Promise<void> {
    const { signal } = this.#woken;
    const rest_ms = this.#pauseMs() - SHORTEST_PAUSE_MS;
    await sleep(SHORTEST_PAUSE_MS);
    if (this.#waiting.size === 0) return;
    await sleep(rest_ms, undefined, { signal }).catch(() => undefined);
  }

  /** The indexes of the queries that find work; all of them when the statement fails. */
  async #ask(): Promise<ReadonlySet<number>> {
    const { sql, logger } = this.#options;
    if (performance.now() < this.#unknown_until_ms) return new Set(this.#watched.keys());
    try {
      const found = await withinTime(ANSWER_MS, askAll(sql, this.#watched));
      this.#has_failed = false;
      return found;
    } catch (error) {
      // Logged once per series of failures. Without it, only the higher cost would show a query that Postgres refuses.
      if (!this.#has_failed)
        logger.warn({ err: error }, 'work cannot be watched; each loop looks for itself');
      this.#has_failed = true;
      this.#unknown_until_ms = performance.now() + UNKNOWN_FOR_MS;
      return new Set(this.#watched.keys());
    }
  }
}

/** The indexes of the queries that find work, by one statement. */
async function askAll(sql: Db, watched: readonly Watched[]): Promise<ReadonlySet<number>> {
  // In a scalar subquery the order and the limit of a query hold, and with them its index; `exists` drops them.
  const columns = watched.map(
    ({ query, clock }, index) =>
      sql`(select true from (${query(sql, new Date(clock.now_ms()))}) w limit 1) is true as ${sql(`found_${index}`)}`,
  );
  const [row] = await sql<Record<string, boolean>[]>`
    select ${columns.reduce((before, column) => sql`${before}, ${column}`)}`;
  return new Set([...watched.keys()].filter((index) => row?.[`found_${index}`] !== false));
}
