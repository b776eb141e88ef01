import type { PlayerDependent } from '../players/dependents.ts';
import { revisionSql } from '../analytics/epoch-queries.ts';
import type { Backlog } from '../platform/backlog-gauge.ts';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import type { WorkQuery } from '../platform/postgres/work-watch.ts';
import type { SegmentRef } from './queries.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { PendingQuery } from 'postgres';

/** Players per row of `segment_changes`. */
const CHANGE_CHUNK = 1_000;

/** One player's membership of one segment. */
export interface Membership {
  segment_id: string;
  player_id: string;
}

/**
 * The segments among these that are not deleted. Call it while their shared locks are held: the purge of a deleted
 * segment takes the lock alone, so it either runs after this transaction and removes what it adds, or has run before
 * it, and then the segment is seen as deleted.
 */
export async function selectLive(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  segment_ids: Iterable<string>,
): Promise<Set<string>> {
  const rows = await tx<{ segment_id: string }[]>`
    select segment_id from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and segment_id = any(${plainArray([...segment_ids])}::text::uuid[])`;
  return new Set(rows.map(({ segment_id }) => segment_id));
}

/** The members among some players, by segment_id: each segment that was asked for has an entry. */
export type Members = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Which of these players are in which of these segments. A row for each player names its segments by their places in the
 * list: a hundred segments have nearly as many members as there are players, so that a row for each membership took most
 * of an evaluation. The list is joined, because as a filter it is parsed anew for each row: 2,100 instead of 60 ms for
 * 800 players of 70 segments each.
 */
export async function selectMemberships(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  segment_ids: readonly string[],
): Promise<Members> {
  const members = segment_ids.map(() => new Set<string>());
  const rows = (await tx`
    select wanted.place::integer, string_agg(s.place::text, ',')
    from unnest(${plainArray(player_ids)}::text::uuid[]) with ordinality as wanted (player_id, place)
    cross join lateral (
      select segment_id from segment_members m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = wanted.player_id offset 0) m
    join unnest(${plainArray(segment_ids)}::text::uuid[]) with ordinality as s (segment_id, place) using (segment_id)
    group by wanted.place`.values()) as unknown as [number, string][];
  for (const [place, of_segments] of rows) {
    const player_id = player_ids[place - 1];
    if (player_id === undefined) throw new Error('a membership is of no player that was asked for');
    for (const segment of of_segments.split(',')) members[Number(segment) - 1]?.add(player_id);
  }
  return new Map(segment_ids.map((segment_id, i) => [segment_id, members[i] ?? new Set()]));
}

/** How many entered and left. */
export interface MembershipCounts {
  added: number;
  removed: number;
}

/**
 * Makes players enter and leave segments, updates the segments' sizes, and adds the changes to the outbox
 * `segment_changes`. A player that is a member already, is not a member, is deleted or is unknown changes nothing. The
 * transaction is one of the session that holds the segments' locks. With `is_part` the change is part of a refresh: the
 * segments are not computed yet.
 */
export async function changeMemberships(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  entering: readonly Membership[],
  leaving: readonly Membership[],
  now: Date,
  is_part = false,
): Promise<MembershipCounts> {
  if (entering.length + leaving.length === 0) return { added: 0, removed: 0 };
  const rows = (list: readonly Membership[]) =>
    rowsOf(tx, 'r', list, { segment_id: 'uuid', player_id: 'uuid' });
  const outboxRows = (has_entered: boolean, of: 'added' | 'removed') => tx`
    select ${tenant_id}::uuid, ${project_id}::uuid, segment_id, ${has_entered}::boolean, array_agg(player_id), ${now}::timestamptz
    from (select segment_id, player_id, (row_number() over (partition by segment_id) - 1) / ${CHANGE_CHUNK} as chunk
      from ${tx(of)}) numbered
    group by segment_id, chunk`;
  const [row] = await tx<{ added: bigint; removed: bigint }[]>`
    with added as (
      insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      select ${tenant_id}, ${project_id}, r.segment_id, r.player_id, ${now}
      from ${rows(entering)}
      cross join lateral (
        select from players p
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = r.player_id
          and p.deleted_at is null offset 0) p
      on conflict do nothing
      returning segment_id, player_id
    ), removed as (
      delete from segment_members m
      using ${rows(leaving)}
      cross join lateral (
        select ctid from segment_members o
        where o.tenant_id = ${tenant_id} and o.project_id = ${project_id} and o.player_id = r.player_id
          and o.segment_id = r.segment_id offset 0) found
      where m.ctid = found.ctid and m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
      returning m.segment_id, m.player_id
    ), outbox as (
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      ${outboxRows(true, 'added')} union all ${outboxRows(false, 'removed')}
    ), counted as (
      update segments s set estimated_size = s.estimated_size + c.change,
        last_computed_at = ${is_part ? tx`s.last_computed_at` : tx`${now}`}
      from (select segment_id, sum(step) as change
        from (select segment_id, 1 as step from added union all select segment_id, -1 from removed) steps
        group by segment_id) c
      where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.segment_id = c.segment_id
    )
    select (select count(*) from added) as added, (select count(*) from removed) as removed`;
  return { added: Number(row?.added ?? 0n), removed: Number(row?.removed ?? 0n) };
}

/** Removes a deleted player from every segment. */
async function leaveEverySegment(
  tx: Tx,
  { tenant_id, project_id, player_id }: ProjectRef & { player_id: string },
  now: Date,
): Promise<void> {
  await tx`
    with removed as (
      delete from segment_members
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
      returning segment_id
    ), outbox as (
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      select ${tenant_id}, ${project_id}, segment_id, false, array[${player_id}::uuid], ${now} from removed
    )
    update segments s set estimated_size = s.estimated_size - 1
    from removed r
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.segment_id = r.segment_id`;
}

/** Removes up to `limit` members of a deleted segment, without outbox rows; returns how many. */
export async function purgeMembers(tx: Tx, ref: SegmentRef, limit: number): Promise<number> {
  const { count } = await tx`
    delete from segment_members m
    using (
      select player_id from segment_members
      where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and segment_id = ${ref.segment_id}
      limit ${limit}
    ) gone
    where m.tenant_id = ${ref.tenant_id} and m.project_id = ${ref.project_id} and m.segment_id = ${ref.segment_id}
      and m.player_id = gone.player_id`;
  return count;
}

/** Makes the survivor of a merge a member of every segment that either player was in, until the next evaluation. */
async function moveMemberships(
  tx: Tx,
  {
    tenant_id,
    project_id,
    player_id,
    into_player_id,
  }: ProjectRef & { player_id: string; into_player_id: string },
  now: Date,
): Promise<void> {
  await tx`
    with removed as (
      delete from segment_members
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
      returning segment_id, entered_at
    ), added as (
      insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      select ${tenant_id}, ${project_id}, segment_id, ${into_player_id}, entered_at from removed
      on conflict do nothing
      returning segment_id
    ), outbox as (
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      select ${tenant_id}::uuid, ${project_id}::uuid, segment_id, false, array[${player_id}::uuid], ${now}::timestamptz
      from removed
      union all
      select ${tenant_id}::uuid, ${project_id}::uuid, segment_id, true, array[${into_player_id}::uuid], ${now}::timestamptz
      from added
    )
    update segments s set estimated_size = s.estimated_size - 1
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id}
      and s.segment_id in (select segment_id from removed except select segment_id from added)`;
}

/** Random members of the segment. */
export function sampleMembers(tx: Tx, ref: SegmentRef, limit: number): PendingQuery<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    select player_id from segment_members
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and segment_id = ${ref.segment_id}
    order by random() limit ${limit}`;
}

/** A row of the outbox: players that entered or left a segment. */
export interface PendingMembershipChange extends SegmentRef {
  change_id: bigint;
  /** The number of the change in all lives of the database: the row's revision in ClickHouse. */
  revision: string;
  has_entered: boolean;
  player_ids: string[];
  changed_ms: bigint;
}

/** The sequence of `change_id` goes back with the database, so the epoch comes first. */
const REVISION = revisionSql('change_id');

/** The oldest rows of a project's outbox after the change `after`, by change_id. */
export async function readChangesOf(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: bigint,
  limit: number,
): Promise<PendingMembershipChange[]> {
  return sql<PendingMembershipChange[]>`
    select ${changeColumns(sql)} from segment_changes
    where tenant_id = ${tenant_id} and project_id = ${project_id} and change_id > ${after}
    order by change_id limit ${limit}`;
}

/** Returns a row while a change waits to be published. */
export const publisherWork: WorkQuery = (sql) => sql`select from segment_changes order by change_id limit 1`;

/**
 * The oldest rows of the outbox, by change_id; of many projects as many of each, so that a project with a large refresh
 * does not hold up the others.
 */
export async function readChanges(sql: Tx, limit: number): Promise<PendingMembershipChange[]> {
  return sql<PendingMembershipChange[]>`
    select ${changeColumns(sql)} from (
      select c.*, row_number() over (partition by c.project_id order by c.change_id) as turn
      from (select distinct tenant_id, project_id from segment_changes) p
      cross join lateral (
        select * from segment_changes o where o.tenant_id = p.tenant_id and o.project_id = p.project_id
        order by o.change_id limit ${limit}) c
      order by turn, change_id limit ${limit}) fair
    order by change_id`;
}

function changeColumns(sql: Tx) {
  return sql`tenant_id, project_id, segment_id, change_id, ${sql.unsafe(REVISION)}::text as revision,
    has_entered, player_ids::text[] as player_ids,
    epoch_ms(changed_at) as changed_ms`;
}

/** The deleted segments among those of these changes. */
export async function selectDeleted(
  sql: Tx,
  changes: readonly PendingMembershipChange[],
): Promise<SegmentRef[]> {
  return sql<SegmentRef[]>`
    select distinct s.tenant_id, s.project_id, s.segment_id
    from ${rowsOf(sql, 'r', changes, { ...PROJECT_KEY, segment_id: 'uuid' })}
    cross join lateral (
      select * from segments s
      where s.tenant_id = r.tenant_id and s.project_id = r.project_id and s.segment_id = r.segment_id
        and s.deleted_at is not null offset 0) s`;
}

/** Removes rows of the outbox that were published. */
export async function deleteChanges(sql: Tx, changes: readonly PendingMembershipChange[]): Promise<void> {
  await sql`
    delete from segment_changes c
    using ${rowsOf(sql, 'r', changes, { ...PROJECT_KEY, change_id: 'bigint' })}
    where c.tenant_id = r.tenant_id and c.project_id = r.project_id and c.change_id = r.change_id`;
}

/** Changes of memberships in the outbox, each of up to 1,000 players. */
export async function readChangesToPublish(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(changed_at))::float8 as oldest_ms
    from (select changed_at from segment_changes order by change_id limit ${most}) as waiting`;
  return row ?? { items: 0, oldest_ms: null };
}

/** What happens to memberships when a player is merged or deleted. */
export const membershipsOfPlayers: PlayerDependent = {
  onMerge: moveMemberships,
  onDelete: leaveEverySegment,
};
