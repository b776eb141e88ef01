import type { Tx } from '../../src/platform/postgres/port.ts';
import { until } from './until.ts';

/** How many backends wait for a lock in the database of `sql`; for one that `holder` holds, if it is given. */
export async function blockedBy(sql: Tx, holder?: Tx): Promise<number> {
  const [held] = holder === undefined ? [] : await holder<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const pid = held?.pid ?? null;
  const waiting = await sql`
    select distinct pid from pg_locks
    where not granted and pid in (select pid from pg_stat_activity where datname = current_database())
      and (${pid}::integer is null or ${pid}::integer = any(pg_blocking_pids(pid)))`;
  return waiting.length;
}

/**
 * Resolves when a statement in the database of `sql` waits for a lock that another transaction holds: `holder`, if it is
 * given, because the service's own statements may wait for each other at any time.
 */
export async function statementWaits(sql: Tx, holder?: Tx): Promise<void> {
  await until('a statement waits for a lock', async (saw) => saw(await blockedBy(sql, holder)) > 0);
}
