import type { ClickHouse } from '../platform/clickhouse/port.ts';
import { keysOfPage, lastIdOfPage } from './all-players-queries.ts';
import { textArray } from '../platform/postgres/arrays.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import { followedTables, MIRRORS, PLAYERS_MIRROR, type MirrorCopy, type MirroredTable } from './mirrors.ts';

/** The present life of the database, and what is known of it. */
export interface EpochState {
  /** Cluster, database and timeline, as they are now. */
  identity: string;
  /** The latest epoch; undefined before the first one. */
  epoch: number | undefined;
  /** The identity that the latest epoch began with. */
  epoch_identity: string | undefined;
  is_ready: boolean;
  /** No transaction has had this id, or a higher one, yet. */
  next_xid: bigint;
  /** All transactions before this one have ended: while it stays the same, no row changed that a mirror can read. */
  horizon_xid: bigint;
}

/**
 * What tells one life of a database from another. The timeline changes when a standby is promoted and when a backup is
 * recovered to a point in time. Read from the name of the current WAL file: pg_control has a new timeline only after the
 * next checkpoint.
 */
const IDENTITY = `
  (select system_identifier from pg_control_system())::text
  || '/' || (select oid from pg_database where datname = current_database())::text
  || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)`;

/** Reads the present identity and the latest epoch. */
export async function readEpochState(sql: Tx): Promise<EpochState> {
  type Row = Omit<EpochState, 'epoch' | 'epoch_identity' | 'next_xid' | 'horizon_xid'> & {
    epoch: number | null;
    epoch_identity: string | null;
    next_xid: string;
    horizon_xid: string;
  };
  const [row] = await sql<Row[]>`
    select ${sql.unsafe(IDENTITY)} as identity, e.epoch, e.identity as epoch_identity,
      e.ready_at is not null as is_ready, pg_snapshot_xmax(pg_current_snapshot())::text as next_xid,
      pg_snapshot_xmin(pg_current_snapshot())::text as horizon_xid
    from (values (1)) as one
    left join (select * from database_epochs order by epoch desc limit 1) e on true`;
  if (row === undefined) throw new Error('Postgres returned no identity');
  return {
    ...row,
    epoch: row.epoch ?? undefined,
    epoch_identity: row.epoch_identity ?? undefined,
    next_xid: BigInt(row.next_xid),
    horizon_xid: BigInt(row.horizon_xid),
  };
}

/** Every table that a mirror follows by `changed_xid`. */
const STAMPED: readonly MirroredTable[] = MIRRORS.flatMap(followedTables);

const FROM_FUTURE = 'changed_xid >= pg_snapshot_xmax(pg_current_snapshot())';

/** Whether Postgres has transaction ids from the future: it was loaded from a dump of another cluster. */
export async function hasFutureIds(sql: Tx): Promise<boolean> {
  const found = [...STAMPED.map(({ table }) => table), 'mirror_positions'].map(
    (table) => `exists (select from ${table} where ${FROM_FUTURE})`,
  );
  const [row] = await sql<{ found: boolean }[]>`select ${sql.unsafe(found.join(' or '))} as found`;
  return row?.found ?? false;
}

/**
 * Begins an epoch, unless another process has begun one since `latest` was read: the mirrors start from the beginning.
 */
export async function beginEpoch(
  sql: Db,
  latest: number | undefined,
  next: { epoch: number; identity: string },
  restarted: readonly string[],
): Promise<boolean> {
  return sql.begin(async (tx) => {
    await tx`lock table database_epochs in share row exclusive mode`;
    const [row] = await tx<{ epoch: number | null }[]>`select max(epoch) as epoch from database_epochs`;
    if ((row?.epoch ?? undefined) !== latest) return false;
    await tx`insert into database_epochs (epoch, identity) values (${next.epoch}, ${next.identity})`;
    if (next.epoch === 0) return true;
    await tx`
      insert into mirror_positions (name, epoch, changed_xid, row_id)
      select name, ${next.epoch}, '0', '00000000-0000-0000-0000-000000000000'
      from unnest(${textArray(restarted)}::text::text[]) r (name)
      on conflict (name) do update set epoch = excluded.epoch, changed_xid = excluded.changed_xid, row_id = excluded.row_id`;
    return true;
  });
}

/** Records that every row has a transaction id of this life. */
export async function markEpochReady(sql: Tx, epoch: number): Promise<void> {
  await sql`update database_epochs set ready_at = now() where epoch = ${epoch} and ready_at is null`;
}

/** The most rows of one transaction that gives them a present id: a fraction of a second. */
const RESTAMPED_ROWS = 2_000;

/**
 * Gives rows with a transaction id from the future a present one, the oldest first; returns how many, at most 2,000. Rows
 * that others are writing are skipped: they get a present id by that.
 */
export async function restampRows(sql: Tx, { table, row_id }: MirroredTable): Promise<number> {
  const done = await sql`
    with page as materialized (
      select ctid from ${sql(table)}
      where ${sql.unsafe(FROM_FUTURE)}
      order by changed_xid, ${sql(row_id)} limit ${RESTAMPED_ROWS}
      for no key update skip locked
    )
    update ${sql(table)} t set changed_xid = pg_current_xact_id() from page where t.ctid = page.ctid`;
  return done.count;
}

/**
 * Notes the next 2,000 players as changed, in an epoch in which player-mirror starts from the beginning, and gives those with
 * a transaction id from the future a present one; returns how many, 0 after the last ones. Its position remembers the last
 * one, so that each player is noted once, by whichever mirror asks. What is written meanwhile is noted by its writer.
 */
export async function noteAllPlayers(sql: Db): Promise<number> {
  return sql.begin(async (tx) => {
    const [position] = await tx<{ epoch: number; row_id: string }[]>`
      select epoch, row_id from mirror_positions where name = ${PLAYERS_MIRROR} and epoch > 0 and changed_xid = '0' for update`;
    if (position === undefined) return 0;
    const { epoch, row_id } = position;
    const last_id = await lastIdOfPage(tx, row_id, RESTAMPED_ROWS);
    if (last_id === undefined) return 0;
    for (const table of ['player_totals', 'player_merges'] as const)
      await tx`
        update ${tx(table)} set changed_xid = pg_current_xact_id()
        where player_id > ${row_id}::uuid and player_id <= ${last_id}::uuid and ${tx.unsafe(FROM_FUTURE)}`;
    const noted = await tx<{ count: number }[]>`
      insert into player_changes (tenant_id, project_id, player_count, player_ids)
      select tenant_id, project_id, count(*), array_agg(player_id)
      from (${keysOfPage(tx, row_id, last_id)}) k group by tenant_id, project_id
      returning player_count as count`;
    await tx`
      update database_epochs set noted_xid = greatest(noted_xid, pg_current_xact_id()) where epoch = ${epoch}`;
    await tx`update mirror_positions set row_id = ${last_id} where name = ${PLAYERS_MIRROR}`;
    return noted.reduce((sum, { count }) => sum + count, 0);
  });
}

/** Gives a page of every mirrored table present ids, but for those rows that others are writing. */
export async function restampPages(sql: Tx): Promise<number> {
  let count = 0;
  for (const table of STAMPED) count += await restampRows(sql, table);
  return count;
}

/**
 * Lets events that wait for the copy of their player (`src/engage/triggers`) wait for the player's present transaction
 * id, where they wait for one from the future; returns how many, at most 2,000. Called after the players got theirs.
 */
export async function restampTriggerEvents(sql: Tx): Promise<number> {
  const done = await sql`
    with page as (
      select e.ctid, e.tenant_id, e.project_id, e.player_id from trigger_events e
      where e.decided_at is null and e.player_xid >= pg_snapshot_xmax(pg_current_snapshot())
      limit ${RESTAMPED_ROWS} for update skip locked
    )
    update trigger_events e set player_xid = coalesce(t.changed_xid, '0'::xid8)
    from page p
    left join lateral (
      select t.changed_xid from player_totals t
      where t.tenant_id = p.tenant_id and t.project_id = p.project_id and t.player_id = p.player_id offset 0) t on true
    where e.ctid = p.ctid`;
  return done.count;
}

/** The highest epoch among the revisions in ClickHouse; 0 when it is empty. */
export async function epochInClickHouse(clickhouse: ClickHouse): Promise<number> {
  const copies = MIRRORS.flatMap((mirror) => mirror.copies.map(({ copy }) => copy));
  const newest = [...copies, 'segment_members', 'player_aliases'].map(
    (table) => `select max(revision) as revision from ${table}`,
  );
  const [row] = await clickhouse.query<{ revision: string }>(
    `select max(revision) as revision from (${newest.join(' union all ')})`,
  );
  return Number(BigInt(row?.revision ?? 0) / REVISIONS_OF_EPOCH);
}

/** A row in ClickHouse beyond the position of its mirror. */
interface CopiedRow extends ProjectRef {
  row_id: string;
  revision: string;
}

const COMPARED_ROWS = 1_000;

/** The rows of a mirrored table with the highest revisions above this one, at most 1,000. */
export async function readNewestCopies(
  clickhouse: ClickHouse,
  { copy, row_id }: MirrorCopy,
  above: bigint,
): Promise<CopiedRow[]> {
  return clickhouse.query<CopiedRow>(
    `select tenant_id, project_id, ${row_id} as row_id, revision from ${copy}
    where revision > {above:UInt64} order by revision desc limit ${COMPARED_ROWS}`,
    { above: String(above) },
  );
}

/**
 * Whether Postgres has an earlier state than ClickHouse of one of these rows. One that ClickHouse has and Postgres not
 * counts as such where rows are never removed, as players and runs; a message or a step only by
 * {@link EpochState.next_xid}.
 */
export async function isBehindCopies(
  sql: Tx,
  { tables, is_kept }: MirrorCopy,
  copies: readonly CopiedRow[],
): Promise<boolean> {
  if (copies.length === 0) return false;
  const rows = rowsOf(sql, 'r', copies, {
    ...PROJECT_KEY,
    row_id: 'uuid',
    xid: ['numeric', (c) => BigInt(c.revision) % REVISIONS_OF_EPOCH],
  });
  const newest = tables
    .map(
      ({ table, row_id }) => `select changed_xid from ${table} t
        where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.${row_id} = r.row_id`,
    )
    .join(' union all ');
  const missing = is_kept ? sql`s.xid is null or` : sql``;
  const [row] = await sql<{ behind: boolean }[]>`
    select exists (
      select from ${rows}
      cross join lateral (select max(n.changed_xid)::text::numeric as xid from (${sql.unsafe(newest)}) n) s
      where ${missing} s.xid < r.xid) as behind`;
  return row?.behind ?? false;
}

/** Revisions of one epoch: transaction ids, or numbers of changes, stay below this. */
export const REVISIONS_OF_EPOCH = 2n ** 48n;

/**
 * SQL of Postgres for a row's revision in ClickHouse: the epoch of the database, then `within`, a numeric expression that
 * grows within one life of it. The subquery is evaluated once per statement.
 */
export function revisionSql(within: string): string {
  return `((select coalesce(max(epoch), 0) from database_epochs) * ${REVISIONS_OF_EPOCH}::numeric + ${within})`;
}
