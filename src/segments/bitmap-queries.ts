import type { ClickHouse } from '../platform/clickhouse/port.ts';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { SegmentRef } from './queries.ts';
import { SCOPE } from './sql/owner-sql.ts';

/** The set of a segment's members in Postgres. */
export interface MembersState {
  segment_id: string;
  /** What names the set: an unsigned number of 64 bits; undefined when it was not computed yet. */
  members_hash: string | undefined;
  size: bigint;
  /** What the numbers of the project's players mean. */
  numbering: string;
}

/** The present states of the members of those segments that are not deleted. */
export async function readMembersStates(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  segment_ids: readonly string[],
): Promise<MembersState[]> {
  type StateRow = { segment_id: string; members_hash: bigint | null; size: bigint; numbering: string };
  const rows = await sql<StateRow[]>`
    select s.segment_id, s.members_hash, s.estimated_size as size, p.numbering::text as numbering
    from segments s join projects p using (tenant_id, project_id)
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.deleted_at is null
      and s.segment_id = any(${plainArray(segment_ids)}::text::uuid[])`;
  return rows.map(({ members_hash, ...row }) => ({
    ...row,
    members_hash: members_hash === null ? undefined : String(BigInt.asUintN(64, members_hash)),
  }));
}

/**
 * Computes the hash of the members of a segment of an earlier version, once; a second per million. Others who change its
 * members wait, and change the hash after it.
 */
export async function hashMembers(sql: Db, { tenant_id, project_id, segment_id }: SegmentRef): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      select from segments
      where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
      for no key update`;
    await tx`
      update segments s
      set members_hash = (
        select coalesce(bit_xor(member_hash(m.player_id)), 0) from segment_members m
        where m.tenant_id = s.tenant_id and m.project_id = s.project_id and m.segment_id = s.segment_id)
      where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.segment_id = ${segment_id}
        and s.members_hash is null`;
  });
}

/** The segments whose set of members, as in their state, ClickHouse has as a bitmap. */
export async function findBitmaps(
  clickhouse: ClickHouse,
  project: ProjectRef,
  states: readonly MembersState[],
): Promise<Set<string>> {
  const rows = await clickhouse.query<{ segment_id: string; hash: string }>(
    `select distinct segment_id, toString(members_hash) as hash from segment_bitmaps
    where ${SCOPE} and segment_id in {segment_ids:Array(UUID)} and numbering = {numbering:UInt64}`,
    {
      ...project,
      segment_ids: states.map(({ segment_id }) => segment_id),
      numbering: states[0]?.numbering ?? '0',
    },
  );
  const known = new Set(rows.map(({ segment_id, hash }) => `${segment_id} ${hash}`));
  const ids = states.map(({ segment_id }) => segment_id);
  return new Set(ids.filter((id, i) => known.has(`${id} ${states[i]?.members_hash}`)));
}

const MEMBERS = `select player_id from segment_members final where ${SCOPE} and segment_id = {segment_id:UUID}`;

/** SQL of ClickHouse for the hash of `player_id`, as `member_hash` of Postgres. */
export const MEMBER_HASH = 'reinterpretAsUInt64(reverse(substring(MD5(toString(player_id)), 1, 8)))';

/**
 * Stores the numbers of the segment's members that ClickHouse has now, if these are the members that Postgres has in `state`,
 * by their hash and number, and if each is a player who was copied with a number of his own of the numbering. Otherwise a
 * change came meanwhile, or the copy of a player or of a change is still missing, and nothing is stored. Takes up to
 * `limit_s` seconds.
 */
export async function makeBitmap(
  clickhouse: ClickHouse,
  project: ProjectRef,
  { segment_id, members_hash = '0', size, numbering }: MembersState,
  limit_s: number,
): Promise<void> {
  await clickhouse.command(
    `insert into segment_bitmaps
    select {tenant_id:UUID}, {project_id:UUID}, {segment_id:UUID}, {numbering:UInt64}, groupBitXor(hash) as members_hash,
      max(player_no), groupBitmapState(player_no)
    from (select player_id, ${MEMBER_HASH} as hash from (${MEMBERS})) as m
    any left join (
      select player_id, if(numbering = {numbering:UInt64}, player_no, 0) as player_no from players final
      where ${SCOPE} and player_id in (${MEMBERS})) as p using (player_id)
    having members_hash = {members_hash:UInt64} and count() = {size:UInt64} and countIf(player_no = 0) = 0
      and groupBitmap(player_no) = count()
    settings max_execution_time = ${limit_s}, max_memory_usage = 4000000000`,
    { ...project, segment_id, numbering, members_hash, size: String(size) },
  );
}

/** Removes the bitmap of a deleted segment. */
export async function dropBitmap(clickhouse: ClickHouse, ref: SegmentRef): Promise<void> {
  await clickhouse.command(`delete from segment_bitmaps where ${SCOPE} and segment_id = {segment_id:UUID}`, {
    ...ref,
  });
}
