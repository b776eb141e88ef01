import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { WorkQuery } from '../platform/postgres/work-watch.ts';
import { keysOfPage, lastIdOfPage } from './all-players-queries.ts';
import { MIRRORED } from './mirrored-columns.ts';
import { followedTables, PLAYERS_MIRROR, type Mirror, type MirrorCopy } from './mirrors.ts';
import { revisionSql } from './epoch-queries.ts';

/** A mirror's position: all changes up to and including this pair are in ClickHouse. */
export interface MirrorPosition {
  /** The life of the database that `changed_xid` belongs to. */
  epoch: number;
  changed_xid: string;
  /** The id of a send (send-mirror) or of a run (journey-mirror); player-mirror copies whole transactions ({@link LAST_ID}). */
  row_id: string;
}

/** Behind every id: all rows of the transaction are copied. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const MIRROR_START: MirrorPosition = {
  epoch: 0,
  changed_xid: '0',
  row_id: '00000000-0000-0000-0000-000000000000',
};

export async function readMirrorPosition(sql: Tx, name: string): Promise<MirrorPosition> {
  const [row] = await sql<MirrorPosition[]>`
    select epoch, changed_xid::text, row_id from mirror_positions where name = ${name}`;
  return row ?? MIRROR_START;
}

/**
 * The `changed_xid` and `row_id` up to which player-mirror has copied all changes of players, as a query; no row while its
 * position proves nothing: it is from the future (the database was loaded from a dump, and no new epoch has begun yet), or
 * the mirror has not copied all players again that a new epoch has noted.
 */
export function playersMirroredTo(sql: Tx) {
  return sql`
    select m.changed_xid, m.row_id from mirror_positions m
    where m.name = ${PLAYERS_MIRROR} and m.changed_xid < pg_snapshot_xmax(pg_current_snapshot())
      and m.changed_xid >= coalesce((select e.noted_xid from database_epochs e where e.epoch = m.epoch), '0'::xid8)`;
}

/** Moves the position by compare-and-set. False when another mirror has moved it since it was read. */
export async function moveMirrorPosition(
  sql: Tx,
  name: string,
  read: MirrorPosition,
  next: MirrorPosition,
): Promise<boolean> {
  const moved = await sql`
    insert into mirror_positions as m (name, epoch, changed_xid, row_id)
    values (${name}, ${next.epoch}, ${next.changed_xid}::text::xid8, ${next.row_id})
    on conflict (name) do update set changed_xid = excluded.changed_xid, row_id = excluded.row_id
      where m.epoch = ${read.epoch} and m.changed_xid = ${read.changed_xid}::text::xid8 and m.row_id = ${read.row_id}`;
  return moved.count === 1;
}

/** A player as a JSONEachRow line of ClickHouse's `players`. */
export interface ChangedPlayer extends ProjectRef {
  player_id: string;
  line: string;
  /**
   * New to segments, deleted or merged away: all segments must evaluate the player, not only those that read its
   * profile.
   */
  is_new_or_removed: boolean;
}

/** Name and value of each mirrored column but the revision, for `json_build_object`; times are milliseconds. */
const LINE_FIELDS = MIRRORED.filter(({ name }) => name !== 'revision')
  .map(({ name, source, kind }) => `'${name}', ${kind === 'time' ? `epoch_ms(${source})` : source}`)
  .join(', ');

const REVISION = revisionSql('r.xid::text::numeric');
const MERGE_REVISION = revisionSql('m.changed_xid::text::numeric');

/** Players that have changed, and up to where all changes are theirs. */
export interface PlayerChanges {
  players: ChangedPlayer[];
  /** The last of the transactions whose changes these are. */
  until_xid: string;
  /** How many changes there were, of players that may have changed more than once; below the limit only if they were all. */
  count: number;
}

/**
 * The players changed or merged away by the next transactions after `position`, about `limit` of them; undefined when
 * there are none. Only changes of transactions older than every running one are read, so that no change can become
 * visible below a position that was passed. A player that a later transaction has written again is copied as it is now, so
 * that a position says that ClickHouse has these changes of every player. Its revision is that of the last transaction that
 * is read: its own might be above that of an older transaction that still runs. One exception: a player
 * that such a later transaction has merged away is copied with that merge. A reader that waits for the player's change asks
 * about the survivor.
 */
export async function readChangedPlayers(
  sql: Tx,
  position: MirrorPosition,
  limit: number,
): Promise<PlayerChanges | undefined> {
  const beyond = sql`(c.changed_xid, c.change_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)`;
  const [end] = await sql<{ until_xid: string | null; count: number }[]>`
    select coalesce(min(changed_xid) filter (where players >= ${limit}), max(changed_xid))::text as until_xid,
      coalesce(min(players) filter (where players >= ${limit}), max(players), 0)::integer as count
    from (
      select changed_xid, sum(player_count) over (order by changed_xid, change_id) as players from (
        select c.changed_xid, c.change_id, c.player_count from player_changes c
        where ${beyond} and c.changed_xid < pg_snapshot_xmin(pg_current_snapshot())
        order by c.changed_xid, c.change_id limit ${limit}) c) c`;
  if (end === undefined || end.until_xid === null) return undefined;
  const { until_xid, count } = end;
  const players = await selectPlayers(
    sql,
    sql`
      select distinct c.tenant_id, c.project_id, u.player_id
      from player_changes c cross join lateral unnest(c.player_ids) u (player_id)
      where ${beyond} and c.changed_xid <= ${until_xid}::text::xid8`,
    { until_xid },
  );
  return { players, until_xid, count };
}

/** A page of all players by id, also those merged away, without those that a transaction as new as a running one has written. */
export async function readPlayersPage(
  sql: Tx,
  after: string,
  limit: number,
): Promise<{ players: ChangedPlayer[]; last_id: string | undefined }> {
  const last_id = await lastIdOfPage(sql, after, limit);
  if (last_id === undefined) return { players: [], last_id };
  const players = await selectPlayers(sql, keysOfPage(sql, after, last_id), { until_xid: null });
  return { players, last_id };
}

/** The last transaction before the oldest one that runs: a row that is not read below the horizon is of a later one. */
export async function readHorizon(sql: Tx): Promise<string> {
  const [row] = await sql<{ xid: string }[]>`
    select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text as xid`;
  if (row === undefined) throw new Error('Postgres gave no snapshot');
  return row.xid;
}

/**
 * The present rows of these players, with revisions up to that of `until_xid`; null: only the rows that no transaction as new
 * as a running one has written.
 */
async function selectPlayers(
  sql: Tx,
  keys: PendingQuery<Row[]>,
  { until_xid }: { until_xid: string | null },
): Promise<ChangedPlayer[]> {
  const horizon = sql`pg_snapshot_xmin(pg_current_snapshot())`;
  const is_read = until_xid === null ? sql`t.changed_xid < ${horizon}` : sql`true`;
  const is_merge_read =
    until_xid === null ? sql`m.changed_xid < ${horizon}` : sql`m.changed_xid <= ${until_xid}::text::xid8`;
  return sql<ChangedPlayer[]>`
    with k as materialized (${keys})
    select k.tenant_id, k.project_id, k.player_id, u.is_new_or_removed, u.line
    from k cross join lateral (
      select not p.is_known_to_segments or p.deleted_at is not null as is_new_or_removed,
        json_build_object('tenant_id', t.tenant_id, 'project_id', t.project_id, 'player_id', t.player_id,
          ${sql.unsafe(LINE_FIELDS)}, 'revision', ${sql.unsafe(REVISION)})::text as line
      from player_totals t
      cross join lateral (select least(t.changed_xid, ${until_xid}::text::xid8) as xid) r
      cross join lateral (
        select * from players p
        where p.tenant_id = t.tenant_id and p.project_id = t.project_id and p.player_id = t.player_id offset 0) p
      where t.tenant_id = k.tenant_id and t.project_id = k.project_id and t.player_id = k.player_id and ${is_read}
      union all
      select true, json_build_object('tenant_id', m.tenant_id, 'project_id', m.project_id,
        'player_id', m.player_id, 'is_deleted', 1, 'revision', ${sql.unsafe(MERGE_REVISION)})::text
      from player_merges m
      where m.tenant_id = k.tenant_id and m.project_id = k.project_id and m.player_id = k.player_id and ${is_merge_read}
      offset 0) u
    order by k.player_id`;
}

/**
 * Removes the changes from the position that was read up to this transaction, which are copied. There are none below: they
 * were removed with the positions before, and a new epoch sets the position back. Their entries in the index may still be
 * there, and are not visited.
 */
export async function removePlayerChanges(sql: Tx, read: MirrorPosition, until_xid: string): Promise<void> {
  await sql`
    delete from player_changes
    where changed_xid >= ${read.changed_xid}::text::xid8 and changed_xid <= ${until_xid}::text::xid8`;
}

/**
 * The ids of rows that have changed after `position`, beyond the id `after`, in order: also those of transactions as new as a
 * running one, which the mirror does not read yet. A row that changes again stays among them.
 */
export async function readIdsChangedAfter(
  sql: Tx,
  { tables, row_id }: MirrorCopy,
  position: MirrorPosition,
  after: string,
  limit: number,
): Promise<string[]> {
  const id = sql(row_id);
  const changed = tables.map(
    ({ table }) => sql`
      (select ${id} as id from ${sql(table)}
      where (changed_xid, ${id}) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid) and ${id} > ${after}::uuid
      order by ${id} limit ${limit})`,
  );
  const all = changed.reduce((one, other) => sql`${one} union ${other}`);
  const rows = await sql<{ id: string }[]>`select id from (${all}) u order by id limit ${limit}`;
  return rows.map((row) => row.id);
}

/**
 * Whether rows have changed beyond the position of the mirror, also those of transactions as new as a running one. Under a
 * new epoch the position is set back, so then it has work, too.
 */
export function mirrorWork(mirror: Mirror): WorkQuery {
  return (sql) => {
    const at = sql`
      select coalesce(m.changed_xid, ${MIRROR_START.changed_xid}::text::xid8) as changed_xid,
        coalesce(m.row_id, ${MIRROR_START.row_id}::uuid) as row_id
      from (values (1)) one left join mirror_positions m on m.name = ${mirror.name}`;
    const changed = followedTables(mirror).map(
      ({ table, row_id }) => sql`
        (select t.changed_xid from ${sql(table)} t
        where (t.changed_xid, t.${sql(row_id)}) > (p.changed_xid, p.row_id)
        order by t.changed_xid, t.${sql(row_id)} limit 1)`,
    );
    return sql`
      select from (${at}) p
      cross join lateral (${changed.reduce((one, other) => sql`${one} union all ${other}`)}) c limit 1`;
  };
}

/** The newest change that the mirror follows; `0` when there are none. */
export async function newestChange(tx: Tx, mirror: Mirror): Promise<string> {
  const newest = followedTables(mirror).map(({ table }) => `(select max(changed_xid) from ${table})`);
  const [row] = await tx<{ xid: string }[]>`
    select greatest(${tx.unsafe(newest.join(', '))}, '0'::xid8)::text as xid`;
  return row?.xid ?? '0';
}

/** Whether the mirror has not yet copied all changes up to `until_xid`. */
export async function isMirrorBehind(
  tx: Tx,
  mirror: Mirror,
  position: MirrorPosition,
  until_xid: string,
): Promise<boolean> {
  for (const { table, row_id } of followedTables(mirror)) {
    const [row] = await tx<{ behind: boolean }[]>`
      select exists (select from ${tx(table)}
        where (changed_xid, ${tx(row_id)}) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
          and changed_xid <= ${until_xid}::text::xid8) as behind`;
    if (row?.behind === true) return true;
  }
  return false;
}

/** Records that these players were marked dirty for every segment; from now on only their changes mark them. */
export async function markKnownToSegments(tx: Tx, players: readonly ChangedPlayer[]): Promise<void> {
  await tx`
    update players p set is_known_to_segments = true
    from ${rowsOf(tx, 'r', players, { ...PROJECT_KEY, player_id: 'uuid' })}
    where p.tenant_id = r.tenant_id and p.project_id = r.project_id and p.player_id = r.player_id
      and not p.is_known_to_segments`;
}
