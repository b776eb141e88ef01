import type { ClickHouse } from '../platform/clickhouse/port.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import { JOIN_SURVIVOR, survivorOf } from '../analytics/correction-queries.ts';
import { LEDGER_COLUMNS, toLedgerRow, type LedgerValues } from '../ledger/money/ledger-queries.ts';
import type { LedgerRow } from '../ledger/money/ledger.ts';
import { SUMS, type Sum as TotalsSum } from '../ledger/money/totals.ts';

/** Where a sum comes from: what the ledger adds up to, the totals in Postgres, or a table of ClickHouse. */
export type SumSource = 'ledger' | 'totals' | 'events' | 'events_by_player';

/**
 * A part of one sum of one player; parts of the same sum add up. `event` is empty for a total. Of an event `field` is
 * `count`, `sum_amount`, `sum_payout`, or a sum of what it counts: in the order of their names, the count comes first.
 */
export interface Sum extends ProjectRef {
  player_id: string;
  event: string;
  field: string;
  source: SumSource;
  value: bigint;
}

/** One sum of one player that its sources do not agree about; integers as text. */
export interface DifferingSum extends ProjectRef, Record<SumSource, string> {
  player_id: string;
  event: string;
  field: string;
}

/** The field of when a player first deposited, in milliseconds since the epoch: no sum, the least of its parts. */
export const FIRST_DEPOSIT = 'first_deposit_at';

/** A position in the ledger, in the order of its key. */
export type LedgerPosition = Pick<LedgerRow, 'reference' | 'ordinal'> & { project_no: number };

/** The totals of one player. */
export interface HeldTotals extends ProjectRef {
  player_id: string;
  totals: Record<string, bigint>;
}

/**
 * A page of the ledger in the order of its key, through all projects, or those of one tenant, and its last position;
 * undefined: it is the last page. Each page is a statement of its own.
 */
export async function readLedgerPage(
  sql: Tx,
  tenant_id: string | undefined,
  after: LedgerPosition | undefined,
  limit: number,
): Promise<{ rows: LedgerRow[]; last: LedgerPosition | undefined }> {
  const beyond =
    after === undefined
      ? sql`true`
      : sql`(l.project_no, l.reference, l.ordinal)
          > (${after.project_no}::integer, ${after.reference}, ${after.ordinal}::integer)`;
  // Of one tenant, project by project: a filter on the projects could scan the rows of those before them. In the order of
  // the projects, so that the first one with a full page is the last one that is read.
  const from =
    tenant_id === undefined
      ? sql`select * from ledger l where ${beyond} order by l.project_no, l.reference, l.ordinal`
      : sql`select l.* from (
            select project_no from projects
            where tenant_id = ${tenant_id} and project_no >= ${after?.project_no ?? 0}::integer
            order by project_no offset 0) p
          cross join lateral (
            select * from ledger l where l.project_no = p.project_no and ${beyond}
            order by l.reference, l.ordinal limit ${limit}) l
          order by p.project_no, l.reference, l.ordinal`;
  const page = (await sql`
    select l.project_no, p.tenant_id, p.project_id, ${sql.unsafe(LEDGER_COLUMNS)}
    from (
      ${from}
      limit ${limit}
    ) l
    join projects p using (project_no)
    ${sql.unsafe(JOIN_SURVIVOR)}
    order by l.project_no, l.reference, l.ordinal`.values()) as unknown as [
    number,
    string,
    string,
    ...LedgerValues,
  ][];
  const rows = page.map(([, tenant, project_id, ...values]) =>
    toLedgerRow({ tenant_id: tenant, project_id }, values),
  );
  const [row, values] = [rows.at(-1), page.at(-1)];
  const is_full = page.length === limit;
  return {
    rows,
    last:
      is_full && row !== undefined && values !== undefined
        ? { project_no: values[0], reference: row.reference, ordinal: row.ordinal }
        : undefined,
  };
}

/** A page of the totals of all players by their key, of all projects, or those of one tenant. */
export async function readTotalsPage(
  sql: Tx,
  tenant_id: string | undefined,
  after: HeldTotals | undefined,
  limit: number,
): Promise<HeldTotals[]> {
  const rows = await sql<
    (ProjectRef & { player_id: string } & Record<TotalsSum | typeof FIRST_DEPOSIT, bigint>)[]
  >`
    select tenant_id, project_id, player_id, ${sql(SUMS)},
      coalesce(epoch_ms(first_deposit_at), 0)::bigint as ${sql(FIRST_DEPOSIT)} from player_totals
    where ${tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`} ${
      after === undefined
        ? sql``
        : sql`and (player_id, tenant_id, project_id) > (${after.player_id}::uuid, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`
    }
    order by player_id, tenant_id, project_id
    limit ${limit}`;
  return rows.map(({ tenant_id, project_id, player_id, ...totals }) => ({
    tenant_id,
    project_id,
    player_id,
    totals,
  }));
}

/** What is committed now, for {@link readChangedPlayers}. */
export async function readSnapshot(sql: Tx): Promise<string> {
  const [row] = await sql<{ snapshot: string }[]>`select pg_current_snapshot()::text as snapshot`;
  if (row === undefined) throw new Error('Postgres gave no snapshot');
  return row.snapshot;
}

/** A player that was written since a snapshot (`is_recent`), or was merged into another one at any time (`is_gone`). */
export interface ChangedPlayer extends ProjectRef {
  player_id: string;
  is_recent: boolean;
  is_gone: boolean;
}

/**
 * Those of the players that were merged, or whose profile, totals or ledger rows were written by transactions not in the
 * snapshot.
 */
export async function readChangedPlayers(
  sql: Tx,
  snapshot: string,
  players: readonly (ProjectRef & { player_id: string })[],
): Promise<ChangedPlayer[]> {
  return sql<ChangedPlayer[]>`
    select r.tenant_id, r.project_id, r.player_id, c.is_gone,
      not pg_visible_in_snapshot(c.changed_xid, ${snapshot}::text::pg_snapshot) as is_recent
    from ${rowsOf(sql, 'r', players, { ...PROJECT_KEY, player_id: 'uuid' })}
    cross join lateral (
      select false as is_gone, t.changed_xid from player_totals t where t.tenant_id = r.tenant_id
        and t.project_id = r.project_id and t.player_id = r.player_id
      union all
      select true, m.changed_xid from player_merges m where m.tenant_id = r.tenant_id
        and m.project_id = r.project_id and m.player_id = r.player_id
      offset 0) c
    where c.is_gone or not pg_visible_in_snapshot(c.changed_xid, ${snapshot}::text::pg_snapshot)`;
}

/** Creates the table in which the sums of a comparison are collected: Node could not hold those of all players. */
export async function openSums(clickhouse: ClickHouse, table: string): Promise<void> {
  await clickhouse.command(
    `create table ${table} (tenant_id UUID, project_id UUID, player_id UUID, event LowCardinality(String),
      field LowCardinality(String), source LowCardinality(String), value Int128)
    engine = MergeTree order by (tenant_id, project_id, player_id, event, field)`,
  );
}

export async function storeSums(
  clickhouse: ClickHouse,
  table: string,
  sums: readonly Sum[],
  token: string,
): Promise<void> {
  const lines = sums.map((sum) => JSON.stringify({ ...sum, value: String(sum.value) }));
  if (lines.length > 0) await clickhouse.insertLines(table, lines, token);
}

/**
 * Adds up the events of a table of ClickHouse per player and event, each event once: their number, and for the money
 * events the sums of their amounts. A failed deposit or withdrawal counts only when it has a transaction_id: without
 * one it has no ledger row.
 */
export async function sumEvents(
  clickhouse: ClickHouse,
  table: string,
  of: 'events' | 'events_by_player',
  tenant_id: string | undefined,
): Promise<void> {
  const scope = tenant_id === undefined ? 'true' : 'tenant_id = {tenant_id:UUID}';
  await clickhouse.rewrite(
    'reconcile-sums',
    `insert into ${table}
    select tenant_id, project_id, player, event, tupleElement(sum, 1), '${of}', tupleElement(sum, 2)
    from (
      select tenant_id, project_id, ${survivorOf('e')} as player, event, toInt128(count()) as number,
        sum(toInt128(ifNull(e.base_amount, 0))) as amount, sum(toInt128(ifNull(e.base_payout, 0))) as payout,
        sum(toInt128(e.stake_counted)) as stake_counted, sum(toInt128(e.payout_counted)) as payout_counted,
        sum(toInt128(e.bonus_stake_counted) + toInt128(e.bonus_payout_counted)) as bonus_counted
      from ${of === 'events' ? `(select * from events final where ${scope})` : eventsByPlayer(scope)} as e
      where (event not in ('deposit_failed', 'withdrawal_failed')
          or JSONType(properties, 'transaction_id') = 'String')
      group by tenant_id, project_id, player, event
    )
    array join [('count', number), ('sum_amount', amount), ('sum_payout', payout),
      ('sum_stake_counted', stake_counted), ('sum_payout_counted', payout_counted),
      ('sum_bonus_counted', bonus_counted)] as sum
    where tupleElement(sum, 2) != 0
    settings max_bytes_before_external_group_by = 1000000000`,
    tenant_id === undefined ? {} : { tenant_id },
  );
}

/**
 * The rows of `events_by_player`, each event once: until the rows of a merged player are rewritten, an event can have one
 * row under each id, of which the later revision counts, and among equal ones the survivor's.
 */
function eventsByPlayer(scope: string): string {
  const player = '(tenant_id, project_id, player_id)';
  const former = 'select tenant_id, project_id, player_id from player_aliases final';
  const aliased = `${former} union all select tenant_id, project_id, into_player_id from player_aliases final`;
  return `(
    select * from events_by_player final where ${scope} and ${player} not in (${aliased})
    union all
    select * from (
      select * from events_by_player final where ${scope} and ${player} in (${aliased})
      order by revision desc, ${player} in (${former})
      limit 1 by tenant_id, project_id, event, occurred_at, ingestion_id, event_index
    )
  )`;
}

/** The number of events of these names that were added up. */
export async function countSummed(
  clickhouse: ClickHouse,
  table: string,
  events: readonly string[],
): Promise<number> {
  const [row] = await clickhouse.query<{ n: string }>(
    `select toString(sum(value)) as n from ${table}
    where source = 'events' and field = 'count' and event in {events:Array(String)}`,
    { events },
  );
  return Number(row?.n ?? 0);
}

/** Of these events the totals have the number alone. */
export const SESSION_START = 'session_start';

/**
 * A page of the sums that their sources do not agree about. The ledger accounts for the totals and for the events named
 * in `counted`, of session starts for their number alone; of what else there is the two tables of ClickHouse must agree.
 */
export async function readDifferingSums(
  clickhouse: ClickHouse,
  table: string,
  counted: readonly string[],
  after: DifferingSum | undefined,
  limit: number,
): Promise<DifferingSum[]> {
  const of = (source: SumSource) =>
    `if(field = '${FIRST_DEPOSIT}', minIf(value, source = '${source}'), sumIf(value, source = '${source}'))`;
  return clickhouse.query<DifferingSum>(
    `select tenant_id, project_id, player_id, event, field, toString(${of('ledger')}) as ledger,
      toString(${of('totals')}) as totals, toString(${of('events')}) as events,
      toString(${of('events_by_player')}) as events_by_player
    from ${table}
    where ${
      after === undefined
        ? 'true'
        : '(tenant_id, project_id, player_id, event, field) > ({tenant_id:UUID}, {project_id:UUID}, {player_id:UUID}, {event:String}, {field:String})'
    }
    group by tenant_id, project_id, player_id, event, field
    having multiIf(event = '', ledger != totals,
      event in {counted:Array(String)} and (event != '${SESSION_START}' or field = 'count'),
        ledger != events or ledger != events_by_player,
      events != events_by_player)
    order by tenant_id, project_id, player_id, event, field
    limit {limit:UInt32}
    settings optimize_aggregation_in_order = 1`,
    { ...after, counted, limit },
  );
}
