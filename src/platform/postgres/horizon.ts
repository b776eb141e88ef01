import type { Gauge } from 'prom-client';
import type { Logger } from '../logger.ts';
import { startPolling, type PollLoop } from '../poll-loop.ts';
import { limitTransaction } from './limits.ts';
import type { Db, Tx } from './port.ts';

/**
 * What keeps the horizon from advancing: mirrors and fx-restater wait for its transaction, and vacuum keeps what it may
 * still see. The text of a query is never included, because it may contain personal data.
 */
export interface HorizonHolder {
  kind: 'session' | 'prepared transaction' | 'replication slot';
  pid: number | null;
  /** The session's application_name, or the name of the prepared transaction or slot. */
  name: string;
  /** For example `idle in transaction`; null where the service's user may not see it. */
  state: string | null;
  /** The age of its transaction in milliseconds; null where Postgres does not say. */
  age_ms: number | null;
  xid: string;
}

const QUERY_MS = 2_000;

/** Everything that holds back the horizon, except the caller's own session. */
export async function readHolders(sql: Db): Promise<HorizonHolder[]> {
  return sql.begin(async (tx) => {
    await limitTransaction(tx, QUERY_MS);
    // As the user of the connection, who may see the states of the service's other sessions.
    await tx`set local role none`;
    return tx<HorizonHolder[]>`
      select 'session' as kind, pid, application_name as name, state,
        (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as age_ms,
        coalesce(backend_xid, backend_xmin)::text as xid
      from pg_stat_activity
      where (backend_xid is not null or backend_xmin is not null) and pid <> pg_backend_pid()
        -- Vacuum does not hold back anyone, although it has a snapshot.
        and not (backend_type = 'autovacuum worker' and backend_xid is null)
      union all
      select 'prepared transaction', null, gid, 'prepared',
        (extract(epoch from clock_timestamp() - prepared) * 1000)::float8, transaction::text
      from pg_prepared_xacts
      union all
      select 'replication slot', active_pid, slot_name, case when active then 'active' else 'inactive' end, null,
        coalesce(xmin, catalog_xmin)::text
      from pg_replication_slots where xmin is not null or catalog_xmin is not null`;
  });
}

interface WatchOptions {
  sql: Db;
  logger: Logger;
  /** The age of the horizon in seconds; NaN while it is unknown. */
  gauge: Gauge;
  /** From this age on, the holder is named in the log. */
  warn_after_ms?: number;
}

const WARN_AFTER_MS = 10_000;
/** The same holder is named again after this time. */
const WARN_EVERY_MS = 60_000;

/** Measures the age of the horizon, and names in the log what holds it back for too long. */
export class HorizonWatch {
  readonly #options: WatchOptions;
  /** When each holder was first seen, on the monotonic clock: its age where Postgres does not say. */
  #seen_ms = new Map<string, number>();
  #warned = new Map<string, number>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Looks once. Rejects when Postgres does not answer. */
  async look(): Promise<void> {
    const { sql, gauge, logger, warn_after_ms = WARN_AFTER_MS } = this.#options;
    const holders = await readHolders(sql).catch((error: unknown) => {
      gauge.set(Number.NaN);
      throw error;
    });
    const now_ms = performance.now();
    const seen_ms = new Map<string, number>();
    let oldest: { key: string; holder: HorizonHolder; age_ms: number } | undefined;
    for (const holder of holders) {
      const { kind, pid, name, xid } = holder;
      const key = `${kind} ${pid} ${name} ${xid}`;
      const since_ms = this.#seen_ms.get(key) ?? now_ms;
      seen_ms.set(key, since_ms);
      const age_ms = holder.age_ms ?? now_ms - since_ms;
      if (oldest === undefined || age_ms > oldest.age_ms) oldest = { key, holder, age_ms };
    }
    this.#seen_ms = seen_ms;
    for (const key of this.#warned.keys()) if (!seen_ms.has(key)) this.#warned.delete(key);
    gauge.set(Math.max(0, oldest?.age_ms ?? 0) / 1_000);
    if (oldest === undefined || oldest.age_ms < warn_after_ms) return;
    if (now_ms - (this.#warned.get(oldest.key) ?? -Infinity) < WARN_EVERY_MS) return;
    this.#warned.set(oldest.key, now_ms);
    logger.warn(
      describeHolder(oldest.holder, oldest.age_ms),
      'an old transaction holds back the mirrors and vacuum',
    );
  }
}

/** The fields of a log line about a holder. */
export function describeHolder({ kind, pid, name, state }: HorizonHolder, age_ms: number | null) {
  return {
    holder: kind,
    pid,
    application_name: name,
    state,
    age_s: age_ms === null ? null : Math.round(age_ms / 1_000),
  };
}

/** Looks every ten seconds. */
export function startHorizonWatch(options: WatchOptions): PollLoop {
  const watch = new HorizonWatch(options);
  const pauses = { idle_pause_ms: 10_000, longest_pause_ms: 10_000 };
  return startPolling({ name: 'horizon watch', logger: options.logger, ...pauses }, async () => {
    await watch.look();
    return false;
  });
}

/** Assigns an id to the transaction, above all ids assigned before. A single statement outside of one is a transaction. */
export async function takeTransactionId(tx: Tx): Promise<string> {
  const [row] = await tx<{ xid: string }[]>`select pg_current_xact_id()::text as xid`;
  if (row === undefined) throw new Error('Postgres gave no transaction id');
  return row.xid;
}

/** Whether every transaction below `until_xid` has ended. */
export async function isPast(sql: Tx, until_xid: string): Promise<boolean> {
  const [row] = await sql<{ past: boolean }[]>`
    select pg_snapshot_xmin(pg_current_snapshot()) >= ${until_xid}::text::xid8 as past`;
  return row?.past ?? false;
}
