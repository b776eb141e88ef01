import { pino } from 'pino';
import { encodeAccepted } from '../../../src/ingest/events/envelope.ts';
import { ThresholdCache } from '../../../src/ledger/tier-thresholds/threshold-cache.ts';
import type { FoldContext } from '../../../src/ledger/fold/fold-batch.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { LogBatch, LogRecord } from '../../../src/platform/event-log/port.ts';
import { newId } from '../../../src/platform/ids.ts';
import { openJobs } from '../../../src/platform/jobs/graphile.ts';
import { migrateJobs } from '../../../src/platform/jobs/migrate.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { openNotifications } from '../../../src/platform/postgres/notifications.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { fetchRatesOfNewTenant } from '../../../src/ledger/fx/fetch-job.ts';
import { createTenant } from '../../../src/tenants/provision.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

/** A migrated Postgres database for folds that the tests call directly. */
export interface FoldFixture {
  /** The service role's pool. */
  sql: Db;
  newTenant(): Promise<ProjectRef>;
  /** A fold as one process runs it; `conflicts` collects its log lines about write conflicts. */
  newFold(): FoldContext & { conflicts: string[] };
  /** Resolves when statements of this many other connections wait for locks. */
  someoneWaits(connections?: number): Promise<void>;
  close(): Promise<void>;
}

/** `own_postgres` is for tests that wait for transactions to end, which Postgres counts over a whole server. */
export async function openFoldFixture({ own_postgres = false } = {}): Promise<FoldFixture> {
  const server = await openTestPostgres({ prepared: true, own: own_postgres });
  const owner = connectPool(server.url);
  await migratePostgres(owner);
  const postgres = openPostgres(server.url);
  const logger = createLogger('silent');
  await migrateJobs(server.url, logger);
  const jobs = openJobs({ url: server.url, logger, metrics: createMetrics() });
  const notifications = openNotifications(postgres.service, logger);
  return {
    sql: postgres.service,
    newTenant: () =>
      createTenant(
        postgres.service,
        { notifications, onTenantCreated: fetchRatesOfNewTenant(jobs) },
        {
          name: 'Operator',
          base_currency: 'EUR',
          project_name: 'Casino',
          admin_user_id: 'owner',
        },
      ),
    newFold() {
      const conflicts: string[] = [];
      const logger = pino({ level: 'debug' }, { write: (line) => void conflicts.push(line) });
      const metrics = createMetrics();
      return {
        sql: postgres.service,
        clock: systemClock,
        logger,
        metrics,
        newId,
        positions: new Map(),
        base_currencies: new Map(),
        thresholds: new ThresholdCache({ sql: postgres.service, clock: systemClock }),
        conflicts,
      };
    },
    async someoneWaits(connections = 1) {
      await until('a statement waits for a lock', async (saw) => {
        const rows = saw(
          await owner`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and application_name like '%engagement_service%'`,
        );
        return rows.length >= connections;
      });
    },
    async close() {
      await postgres.close();
      await owner.end({ timeout: 5 });
      await server.close();
    },
  };
}

/** The fields of an event that a test sets; the others get defaults. */
export interface Given {
  event: string;
  anonymous_id?: string;
  player_id?: string;
  timestamp?: string;
  properties?: Record<string, unknown>;
}

/**
 * A batch of consecutive records from `first` on, as intake writes them; a string is used as the record's raw value.
 */
export function batchOf(
  { tenant_id, project_id }: ProjectRef,
  events: readonly (Given | string)[],
  {
    topic = 'events',
    partition = 0,
    first = 0n,
  }: { topic?: string; partition?: number; first?: bigint } = {},
): LogBatch {
  const records = events.map((event, i): LogRecord => {
    const stamp = {
      ingestion_id: newId(),
      tenant_id,
      project_id,
      environment: 'dev',
      received_at_ms: systemClock.now_ms(),
    };
    const value = typeof event === 'string' ? event : encodeAccepted(stamp, 0, JSON.stringify(event));
    return { offset: first + BigInt(i), key: 'any', value };
  });
  return { topic, partition, from: first, records };
}

export function deposit(anonymous_id: string, transaction_id: string, amount: number | string): Given {
  const properties = { amount, currency: 'EUR', transaction_id, payment_method: 'card' };
  return { event: 'deposit_confirmed', anonymous_id, properties };
}

interface Totals {
  total_deposited: bigint;
  total_wagered: bigint;
  total_won: bigint;
  bet_count: bigint;
  session_count: bigint;
}

/** The totals of the player with this anonymous_id; undefined when there is none. */
export async function totalsOf(
  sql: Db,
  project: ProjectRef,
  anonymous_id: string,
): Promise<Totals | undefined> {
  const rows = await sql<Totals[]>`
    select t.total_deposited, t.total_wagered, t.total_won, t.bet_count, t.session_count
    from player_identities i
    join player_totals t using (tenant_id, project_id, player_id)
    where i.tenant_id = ${project.tenant_id} and i.project_id = ${project.project_id}
      and i.anonymous_id = ${anonymous_id}`;
  return rows[0];
}
