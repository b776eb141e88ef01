import type { Tx } from './postgres/port.ts';
import type { Platform } from './platform.ts';
import { NIL_ID } from './ids.ts';
import { startPolling, type PollLoop } from './poll-loop.ts';
import type { RetrySchedule } from './retry-pause.ts';
import { RoundRobin } from './round-robin.ts';

/** Tenants that are read at once; while there are more, the next look reads those after them. */
const MAX_TENANTS = 1_000;

/** Rows of a table that wait for their tenants to have a turn. */
export interface TenantWork {
  /** Names the loop in log messages. */
  name: string;
  /** An index of it begins with `tenant_id`. Only waiting rows are in it. */
  table: string;
  /** Tenants that are served at once. */
  max_running: number;
  /** The pauses of a tenant after a failure; absent: those of {@link RoundRobin}. */
  failure_pauses?: RetrySchedule;
  /** Does what is next for a tenant. False when it found nothing: another process has taken it. */
  serve: (tenant_id: string) => Promise<boolean>;
}

/**
 * Serves the tenants that have rows in a table. They take turns, several at once, each with its own pause after a failure,
 * so one that is slow, fails or always has work does not hold up others. Several processes may do so for one table.
 */
export function startTenantLoop(
  { postgres, clock, logger, workWatch }: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'workWatch'>,
  { name, table, max_running, failure_pauses, serve }: TenantWork,
): PollLoop {
  const queue = new RoundRobin<string>({
    keysOf: (tenant_id) => [tenant_id],
    max_running: [max_running, 1],
    ...(failure_pauses && { failure_pauses }),
    onFailure: (tenant_id, error) =>
      logger.warn({ err: error, tenant_id }, `${name} failed for a tenant; its rows stay queued`),
    // Without work the tenant's rows were taken by another process, which must not be waited for in a busy loop.
    onEnd: (worked) => {
      if (worked) loop.wake();
    },
  });
  const pauses = { idle_pause_ms: 1_000, longest_pause_ms: 10_000 };
  const work = workWatch.watch((sql) => sql`select from ${sql(table)} order by tenant_id limit 1`, clock);
  let after = NIL_ID;
  const loop = startPolling({ name, logger, ...pauses, work }, async () => {
    const behind = await selectWaitingTenants(postgres.service, table, after, MAX_TENANTS);
    const is_last = behind.length < MAX_TENANTS;
    // Behind the last tenant is the first: those that have not begun of the pages before wait on.
    const first =
      is_last && after !== NIL_ID
        ? await selectWaitingTenants(postgres.service, table, NIL_ID, MAX_TENANTS - behind.length)
        : [];
    const tenants = [...new Set([...behind, ...first])];
    void queue.offer(tenants, serve);
    // The next look reads the tenants after these, also while all places are taken: of a page that comes again those that
    // have not begun are first.
    after = tenants.length < MAX_TENANTS ? NIL_ID : (tenants.at(-1) ?? NIL_ID);
    return !is_last && !queue.isFull;
  });
  return {
    wake: () => loop.wake(),
    async close() {
      await loop.close();
      await queue.close();
    },
  };
}

/** The tenants after `after` with rows in the table, at most `limit`; one step through the index per tenant. */
export async function selectWaitingTenants(
  sql: Tx,
  table: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const next = (beyond: ReturnType<typeof sql>) => sql`
    select t.tenant_id from ${sql(table)} t where t.tenant_id > ${beyond} order by t.tenant_id limit 1`;
  const rows = await sql<{ tenant_id: string }[]>`
    with recursive waiting as (
      (${next(sql`${after}::uuid`)})
      union all
      select n.tenant_id from waiting w cross join lateral (${next(sql`w.tenant_id`)}) n
    )
    select tenant_id from waiting limit ${limit}`;
  return rows.map(({ tenant_id }) => tenant_id);
}
