import type { ClickHouse } from '../platform/clickhouse/port.ts';
import type { LedgerRow, MoneyEvent } from '../money/ledger.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { MIRRORED, type ColumnKind, type MirroredValues } from './mirrored-columns.ts';

export interface Project {
  tenant_id: string;
  project_id: string;
}

/** Players with `after < player_id <= to`, as texts; null is open. Every id falls into one slice of its project. */
export interface Slice extends Project {
  after: string | null;
  to: string | null;
}

export interface LedgerPosition {
  reference: string;
  event: MoneyEvent;
  occurrence: bigint;
}

/** A player as Postgres has it. */
export interface PostgresPlayer {
  player_id: string;
  pending_conversions: bigint;
  mirrored: MirroredValues;
}

/** What ClickHouse counted of one event of one player. */
export interface CountedEvent {
  player_id: string;
  event: string;
  count: string;
  base_amount: string;
  base_payout: string;
}

/** Every project, or those of one tenant. */
export async function listProjects(tx: Tx, tenant_id: string | undefined): Promise<Project[]> {
  return tx<Project[]>`
    select tenant_id, project_id from projects
    ${tenant_id === undefined ? tx`` : tx`where tenant_id = ${tenant_id}`}
    order by tenant_id, project_id`;
}

/** The newest change of any player; `0` when there are none. */
export async function newestChange(tx: Tx): Promise<string> {
  const [row] = await tx<{ xid: string }[]>`
    select coalesce(max(changed_xid), '0'::xid8)::text as xid from player_totals`;
  return row?.xid ?? '0';
}

/** Whether a player changed up to `until_xid` lies behind the mirror's position. */
export async function isMirrorBehind(
  tx: Tx,
  position: { changed_xid: string; player_id: string },
  until_xid: string,
): Promise<boolean> {
  const rows = await tx`
    select from player_totals
    where (changed_xid, player_id) > (${position.changed_xid}::text::xid8, ${position.player_id}::uuid)
      and changed_xid <= ${until_xid}::text::xid8
    limit 1`;
  return rows.length > 0;
}

/** Where the slice that begins after `after` ends; null when it is the project's last. */
export async function endOfSlice(
  tx: Tx,
  { tenant_id, project_id }: Project,
  after: string | null,
  size: number,
): Promise<string | null> {
  const [row] = await tx<{ player_id: string }[]>`
    select player_id from player_totals
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      ${after === null ? tx`` : tx`and player_id > ${after}::uuid`}
    order by player_id
    offset ${size - 1} limit 1`;
  return row?.player_id ?? null;
}

/** The players of a slice; one without a profile has null in its columns. */
export async function readPlayers(tx: Tx, slice: Slice): Promise<PostgresPlayer[]> {
  const { tenant_id, project_id, after, to } = slice;
  const columns = MIRRORED.map(({ source, kind }) => postgresText(source, kind)).join(', ');
  const rows = await tx<{ player_id: string; pending_conversions: bigint; columns: (string | null)[] }[]>`
    select t.player_id, t.pending_conversions, to_json(array[${tx.unsafe(columns)}]) as columns
    from player_totals t
    left join players p using (tenant_id, project_id, player_id)
    where t.tenant_id = ${tenant_id} and t.project_id = ${project_id}
      ${after === null ? tx`` : tx`and t.player_id > ${after}::uuid`}
      ${to === null ? tx`` : tx`and t.player_id <= ${to}::uuid`}`;
  return rows.map(({ player_id, pending_conversions, columns }) => ({
    player_id,
    pending_conversions,
    mirrored: toMirrored(columns),
  }));
}

function postgresText(source: string, kind: ColumnKind): string {
  return kind === 'time' ? `epoch_ms(${source})::text` : `(${source})::text`;
}

type LedgerPageRow = Omit<LedgerRow, 'occurrence' | 'occurred_at_ms' | 'amount' | 'payout'> & {
  occurrence: bigint;
  occurred_at: Date;
  amount: string | null;
  payout: string | null;
};

/** A page of a project's ledger in the order of its key. */
export async function readLedgerPage(
  tx: Tx,
  { tenant_id, project_id }: Project,
  after: LedgerPosition | undefined,
  limit: number,
): Promise<LedgerRow[]> {
  const beyond =
    after === undefined
      ? tx``
      : tx`and (reference, event, occurrence) > (${after.reference}, ${after.event}::money_event, ${after.occurrence})`;
  const rows = await tx<LedgerPageRow[]>`
    select tenant_id, project_id, reference, event, occurrence, player_id, occurred_at, currency, amount, payout,
      base_amount, base_payout, ingestion_id, event_index, log_partition, log_offset
    from ledger
    where tenant_id = ${tenant_id} and project_id = ${project_id} ${beyond}
    order by tenant_id, project_id, reference, event, occurrence
    limit ${limit}`;
  return rows.map(({ occurred_at, ...row }) => ({
    ...row,
    occurrence: Number(row.occurrence),
    occurred_at_ms: occurred_at.getTime(),
    amount: row.amount === null ? null : BigInt(row.amount),
    payout: row.payout === null ? null : BigInt(row.payout),
  }));
}

/**
 * Money events and session starts per player, each event once. A failed transaction counts where it names its
 * transaction: without an id it has no ledger row.
 */
export async function countEvents(
  clickhouse: ClickHouse,
  slice: Slice,
  events: readonly string[],
): Promise<CountedEvent[]> {
  return clickhouse.query<CountedEvent>(
    `select player_id, event, toString(count()) as count,
      toString(sum(toInt128(ifNull(base_amount, 0)))) as base_amount,
      toString(sum(toInt128(ifNull(base_payout, 0)))) as base_payout
    from events final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and event in ({events:Array(String)}) ${inSlice(slice)}
      and (event not in ('deposit_failed', 'withdrawal_failed') or JSONType(properties, 'transaction_id') = 'String')
    group by player_id, event`,
    { ...slice, events },
  );
}

/** The mirrored players of a slice by player_id: of several revisions the last. */
export async function readMirrored(
  clickhouse: ClickHouse,
  slice: Slice,
): Promise<Map<string, MirroredValues>> {
  const columns = MIRRORED.map(({ name, kind }) => clickHouseText(name, kind)).join(', ');
  const rows = await clickhouse.query<{ player_id: string; columns: (string | null)[] }>(
    `select player_id, [${columns}] as columns
    from players final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} ${inSlice(slice)}`,
    { ...slice },
  );
  return new Map(rows.map(({ player_id, columns }) => [player_id, toMirrored(columns)]));
}

function clickHouseText(name: string, kind: ColumnKind): string {
  const value = kind === 'time' ? `toUnixTimestamp64Milli(${name})` : name;
  return `CAST(${value} AS Nullable(String))`;
}

/** As texts, because ClickHouse orders UUIDs by their second half. */
function inSlice({ after, to }: Slice): string {
  return (
    (after === null ? '' : ' and toString(player_id) > {after:String}') +
    (to === null ? '' : ' and toString(player_id) <= {to:String}')
  );
}

function toMirrored(columns: readonly (string | null)[]): MirroredValues {
  return Object.fromEntries(MIRRORED.map(({ name }, i) => [name, columns[i] ?? null])) as MirroredValues;
}
