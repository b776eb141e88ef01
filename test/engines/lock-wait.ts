import type { Tx } from '../../src/platform/postgres/port.ts';
import { until } from './until.ts';

/**
 * Resolves when a statement in the database of `sql` waits for a lock that another transaction holds: `holder`, if it is
 * given, because the service's own statements may wait for each other at any time.
 */
export async function statementWaits(sql: Tx, holder?: Tx): Promise<void> {
  const [held] = holder === undefined ? [] : await holder<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const pid = held?.pid ?? null;
  await until('a statement waits for a lock', async (saw) => {
    const waiting = saw(
      await sql`
      select from pg_locks
      where not granted and pid in (select pid from pg_stat_activity where datname = current_database())
        and (${pid}::integer is null or ${pid}::integer = any(pg_blocking_pids(pid)))`,
    );
    return waiting.length > 0;
  });
}
