import type { Fragment, PendingQuery, Row } from 'postgres';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Db, Tx } from './port.ts';

/**
 * A query that returns a row while there is work; the loop that waits for it then looks for itself. It may find work
 * that cannot be done yet, but must not miss any: what it misses waits for the loop's longest pause. It is asked several
 * times a second, so it reads one row of an index, however many wait.
 */
export type WorkQuery = (sql: Tx, now: Date) => Fragment;

/** Lanes of which {@link dueLanes} looks at the earliest time. */
const WATCHED_LANES = 100;

/**
 * A row while one of the lanes has come due by its `next_at`. `selectLanes` reads up to `limit` of them; where there are
 * more, further ones may be due.
 */
export function dueLanes(sql: Tx, now: Date, selectLanes: (limit: number) => Fragment): PendingQuery<Row[]> {
  return sql`
    select from (
      select count(*) as lanes, count(*) filter (where next_at <= ${now}) as due
      from (${selectLanes(WATCHED_LANES)}) l) l
    where l.due > 0 or l.lanes = ${WATCHED_LANES}`;
}

/** The work of one loop, or of several loops that share it. */
export interface WatchedWork {
  /**
   * Resolves when work waits, when it cannot be known whether any does, after `longest_ms`, or when `signal` is aborted.
   * It never rejects.
   */
  found(signal: AbortSignal, longest_ms: number): Promise<void>;
}

/** Tells the loops of a process when work waits for them in Postgres. */
export interface WorkWatch {
  /** `clock`: by which the loop judges what is due. */
  watch(query: WorkQuery, clock: Clock): WatchedWork;
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

/** The pause between two statements while work comes, and when none has come for a second. */
const BUSY_PAUSE_MS = 100;
const IDLE_PAUSE_MS = 250;
const BUSY_FOR_MS = 1_000;
/** A loop that begins to wait shortens the pause, but not below this: many loops may begin one after the other. */
const SHORTEST_PAUSE_MS = 40;

/**
 * Asks the queries of all loops of a process in one statement, as long as a loop waits. Without it, each of some thirty
 * loops asks on its own, several times a second. When the statement fails, every loop looks for itself, at its own
 * pause.
 */
export function openWorkWatch({ sql, logger }: Options): WorkWatch {
  const watched: Watched[] = [];
  /** What ends the wait, by the index of the query. */
  const waiting = new Map<() => void, number>();
  /** Ends the pause of the running watch: another loop waits. */
  let joined = new AbortController();
  let is_running = false;
  let has_failed = false;
  let found_ms = Number.NEGATIVE_INFINITY;

  async function run(): Promise<void> {
    is_running = true;
    while (waiting.size > 0) {
      joined = new AbortController();
      const asked = new Map(waiting);
      const found = await ask();
      if (found.size > 0) found_ms = performance.now();
      for (const [end, index] of asked) if (found.has(index)) end();
      const pause_ms = performance.now() < found_ms + BUSY_FOR_MS ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
      await sleep(SHORTEST_PAUSE_MS);
      if (waiting.size > 0) {
        await sleep(pause_ms - SHORTEST_PAUSE_MS, undefined, { signal: joined.signal }).catch(
          () => undefined,
        );
      }
    }
    is_running = false;
  }

  /** The indexes of the queries that find work; all of them when the statement fails. */
  async function ask(): Promise<ReadonlySet<number>> {
    try {
      const found = await askAll(sql, watched);
      has_failed = false;
      return found;
    } catch (error) {
      // Once for each row of failures. A query that Postgres refuses would else only be seen by what the service costs.
      if (!has_failed) logger.warn({ err: error }, 'work cannot be watched; each loop looks for itself');
      has_failed = true;
      return new Set(watched.keys());
    }
  }

  return {
    watch(query, clock) {
      const index = watched.push({ query, clock }) - 1;
      return {
        found: (signal, longest_ms) =>
          new Promise((resolve) => {
            const end = () => {
              waiting.delete(end);
              clearTimeout(longest);
              signal.removeEventListener('abort', end);
              resolve();
            };
            const longest = setTimeout(end, longest_ms);
            if (signal.aborted) return end();
            signal.addEventListener('abort', end, { once: true });
            waiting.set(end, index);
            joined.abort();
            if (!is_running) void run();
          }),
      };
    },
  };
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
