import type { Tx } from '../../src/platform/postgres/port.ts';
import { eventually } from './service.ts';

/** Resolves when a statement in the database of `sql` waits for a lock that another transaction holds. */
export async function statementWaits(sql: Tx): Promise<void> {
  await eventually('a statement waits for a lock', async () => {
    const waiting = await sql`
      select from pg_locks
      where not granted and pid in (select pid from pg_stat_activity where datname = current_database())`;
    return waiting.length > 0 ? true : undefined;
  });
}
