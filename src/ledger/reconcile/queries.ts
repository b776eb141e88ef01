import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { JOIN_SURVIVOR, LEDGER_COLUMNS, toLedgerRow, type LedgerValues } from '../money/ledger-queries.ts';
import type { LedgerRow, MoneyEvent } from '../money/ledger.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { survivorOf } from '../../analytics/survivor.ts';
import { MIRRORED, type ColumnKind, type MirroredValues } from '../../analytics/mirrored-columns.ts';

export interface Project {
  tenant_id: string;
  project_id: string;
}

/**
 * Players with `after < player_id <= to`, compared as text; null: no bound. Every id is in one slice of its project.
 */
export interface Slice extends Project {
  after: string | null;
  to: string | null;
}

export interface LedgerPosition {
  reference: string;
  event: MoneyEvent;
  occurrence: bigint;
}

/** A player in Postgres; `mirrored` has the columns that player-mirror copies. */
export interface PostgresPlayer {
  player_id: string;
  pending_conversions: bigint;
  mirrored: MirroredValues;
}

/** Count and sums of one event of one player in ClickHouse; integers as text. */
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

/** The last player_id of the slice that begins after `after`; null when it is the project's last slice. */
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
      : tx`and (l.reference, l.event, l.occurrence) > (${after.reference}, ${after.event}::money_event, ${after.occurrence})`;
  const rows = (await tx`
    select ${tx.unsafe(LEDGER_COLUMNS)}
    from (
      select * from ledger l
      where l.tenant_id = ${tenant_id} and l.project_id = ${project_id} ${beyond}
      order by l.tenant_id, l.project_id, l.reference, l.event, l.occurrence
      limit ${limit}
    ) l
    ${tx.unsafe(JOIN_SURVIVOR)}
    order by l.reference, l.event, l.occurrence`.values()) as unknown as LedgerValues[];
  return rows.map(toLedgerRow);
}

const SURVIVOR = survivorOf('e');

/**
 * Counts the given events per player, each event once. A failed deposit or withdrawal counts only when it has a
 * transaction_id: without one it has no ledger row.
 */
export async function countEvents(
  clickhouse: ClickHouse,
  slice: Slice,
  events: readonly string[],
): Promise<CountedEvent[]> {
  return clickhouse.query<CountedEvent>(
    `select ${SURVIVOR} as player_id, event, toString(count()) as count,
      toString(sum(toInt128(ifNull(e.base_amount, 0)))) as base_amount,
      toString(sum(toInt128(ifNull(e.base_payout, 0)))) as base_payout
    from events as e final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and event in ({events:Array(String)}) ${inSlice(slice, SURVIVOR)}
      and (event not in ('deposit_failed', 'withdrawal_failed') or JSONType(properties, 'transaction_id') = 'String')
    group by player_id, event`,
    { ...slice, events },
  );
}

/** The mirrored players of a slice by player_id, each in its last revision. */
export async function readMirrored(
  clickhouse: ClickHouse,
  slice: Slice,
): Promise<Map<string, MirroredValues>> {
  const columns = MIRRORED.map(({ name, kind }) => clickHouseText(name, kind)).join(', ');
  const rows = await clickhouse.query<{ player_id: string; columns: (string | null)[] }>(
    `select player_id, [${columns}] as columns
    from players final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} ${inSlice(slice, 'player_id')}`,
    { ...slice },
  );
  return new Map(rows.map(({ player_id, columns }) => [player_id, toMirrored(columns)]));
}

function clickHouseText(name: string, kind: ColumnKind): string {
  const value = kind === 'time' ? `toUnixTimestamp64Milli(${name})` : name;
  return `CAST(${value} AS Nullable(String))`;
}

/** Compares ids as text, because ClickHouse orders UUIDs by their second half. */
function inSlice({ after, to }: Slice, player: string): string {
  return (
    (after === null ? '' : ` and toString(${player}) > {after:String}`) +
    (to === null ? '' : ` and toString(${player}) <= {to:String}`)
  );
}

function toMirrored(columns: readonly (string | null)[]): MirroredValues {
  return Object.fromEntries(MIRRORED.map(({ name }, i) => [name, columns[i] ?? null])) as MirroredValues;
}
