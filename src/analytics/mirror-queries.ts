import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { WorkQuery } from '../platform/postgres/work-watch.ts';
import { MIRRORED } from './mirrored-columns.ts';
import { mirroredTables, type Mirror, type MirrorCopy } from './mirrors.ts';
import { revisionSql } from './epoch-queries.ts';

/** A mirror's position: all changes up to and including this pair are in ClickHouse. */
export interface MirrorPosition {
  /** The life of the database that `changed_xid` belongs to. */
  epoch: number;
  changed_xid: string;
  /** The id of a player (player-mirror), of a send (send-mirror) or of a run (journey-mirror). */
  row_id: string;
}

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

/** A player as a JSONEachRow line of ClickHouse's `players`; `changed_xid` and `player_id` are its position. */
export interface ChangedPlayer extends ProjectRef {
  changed_xid: string;
  player_id: string;
  line: string;
  /**
   * New to segments, deleted or merged away: all segments must evaluate the player, not only those that read its
   * profile.
   */
  is_new_or_removed: boolean;
}

/** Name and value of each mirrored column, for `json_build_object`; times are milliseconds. */
const LINE_FIELDS = MIRRORED.map(
  ({ name, source, kind }) => `'${name}', ${kind === 'time' ? `epoch_ms(${source})` : source}`,
).join(', ');

const MERGE_REVISION = revisionSql('m.changed_xid::text::numeric');

/**
 * Players changed (or merged away) after `position`, in order. Only changes of transactions older than every running
 * one are read, so that no change can become visible below a position that was passed.
 */
export async function readChangedPlayers(
  sql: Tx,
  position: MirrorPosition,
  limit: number,
): Promise<ChangedPlayer[]> {
  const beyond = sql`> (${position.changed_xid}::text::xid8, ${position.row_id})`;
  return sql<ChangedPlayer[]>`
    select u.changed_xid::text, u.tenant_id, u.project_id, u.player_id, u.is_new_or_removed, u.line from (
    (select t.changed_xid, t.tenant_id, t.project_id, t.player_id,
      not p.is_known_to_segments or p.deleted_at is not null as is_new_or_removed, json_build_object(
      'tenant_id', t.tenant_id, 'project_id', t.project_id, 'player_id', t.player_id,
      ${sql.unsafe(LINE_FIELDS)})::text as line
    from player_totals t
    cross join lateral (
      select * from players p
      where p.tenant_id = t.tenant_id and p.project_id = t.project_id and p.player_id = t.player_id offset 0) p
    where (t.changed_xid, t.player_id) ${beyond} and t.changed_xid < pg_snapshot_xmin(pg_current_snapshot())
    order by t.changed_xid, t.player_id
    limit ${limit})
    union all
    (select m.changed_xid, m.tenant_id, m.project_id, m.player_id, true as is_new_or_removed,
      json_build_object('tenant_id', m.tenant_id, 'project_id', m.project_id,
      'player_id', m.player_id, 'is_deleted', 1, 'revision', ${sql.unsafe(MERGE_REVISION)})::text as line
    from player_merges m
    where (m.changed_xid, m.player_id) ${beyond} and m.changed_xid < pg_snapshot_xmin(pg_current_snapshot())
    order by m.changed_xid, m.player_id
    limit ${limit})
    ) u
    order by u.changed_xid, u.player_id
    limit ${limit}`;
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
      select ${id} as id from ${sql(table)}
      where (changed_xid, ${id}) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid) and ${id} > ${after}::uuid`,
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
    const changed = mirroredTables(mirror).map(
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
  const newest = mirroredTables(mirror).map(({ table }) => `(select max(changed_xid) from ${table})`);
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
  for (const { table, row_id } of mirroredTables(mirror)) {
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
