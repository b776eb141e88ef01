import type { Fragment } from 'postgres';
import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Members of one range: one transaction works through them (spec part 8). */
const RANGE = 1_000;
/** Ranges that one transaction cuts: of 100,000 members, in about a tenth of a second. */
const MAX_CUT = 100;

/** What members are worked through for. */
export interface RangeKind {
  work: 'campaign' | 'journey';
  /** A condition of the ranges `r` that may be taken now; absent: all of them. */
  mayBeTaken?: (sql: Tx) => Fragment;
}

/** The campaign or journey of a range. */
export interface RangeOwner extends ProjectRef {
  owner_id: string;
}

/** From one player id (included) to another (not included); null: to the last. */
export interface PlayerIds {
  from_player_id: string;
  until_player_id: string | null;
}

/** A range of members that waits. One without an end may have any number of members: {@link cutRange} cuts it. */
export interface MemberRange extends RangeOwner, PlayerIds {
  /** Tells apart what members are worked through for more than once, like the occurrences of a schedule; or empty. */
  occasion: string;
  /** Only members since a time before this take part; null: all members. */
  members_before: Date | null;
}

export const EVERYBODY: PlayerIds = { from_player_id: NIL_ID, until_player_id: null };

/** Returns a row while a range waits that may be taken. */
export function rangeWork(kind: RangeKind): WorkQuery {
  return (sql) => sql`
    select from member_ranges r where r.work = ${kind.work} ${free(sql, kind)} order by r.owner_id limit 1`;
}

function free(sql: Tx, { mayBeTaken }: RangeKind) {
  return mayBeTaken === undefined ? sql`` : sql`and ${mayBeTaken(sql)}`;
}

/**
 * Removes a range that no other transaction holds and returns it: one of the next owner after `last`, so that owners take
 * turns, and none of `but_of`. After a rollback it waits again.
 */
export async function takeRange(
  tx: Tx,
  kind: RangeKind,
  last: string | undefined,
  but_of: readonly string[],
): Promise<MemberRange | undefined> {
  // The materialised CTE chooses the range once. The planner may run a plain subquery again for each row that it scans;
  // because of `skip locked` each run chooses another range, and all of them would be deleted.
  const take = async (after: string) => {
    const [range] = await tx<MemberRange[]>`
      with one as materialized (
        select r.ctid from member_ranges r
        where r.work = ${kind.work} and r.owner_id > ${after}::uuid
          and r.owner_id <> all(${plainArray(but_of)}::text::uuid[]) ${free(tx, kind)}
        order by r.owner_id, r.occasion, r.from_player_id limit 1 for update of r skip locked
      )
      delete from member_ranges r using one where r.ctid = one.ctid
      returning r.tenant_id, r.project_id, r.owner_id, r.occasion, r.from_player_id, r.until_player_id, r.members_before`;
    return range;
  };
  return (await take(last ?? NIL_ID)) ?? (last === undefined ? undefined : take(NIL_ID));
}

/** Adds a range that waits. */
export async function insertRange(tx: Tx, { work }: RangeKind, range: MemberRange): Promise<void> {
  const { tenant_id, project_id, owner_id, occasion, from_player_id, until_player_id, members_before } =
    range;
  await tx`
    insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id, until_player_id,
      members_before)
    values (${work}, ${tenant_id}, ${project_id}, ${owner_id}, ${occasion}, ${from_player_id}, ${until_player_id},
      ${members_before})`;
}

/**
 * Cuts the first ranges of {@link RANGE} members from a taken range without an end. Returns the first of them for the
 * caller; the others wait, and the last of them again has no end: it has the members that are not cut yet. A range that
 * has an end comes back as it is.
 */
export async function cutRange(
  tx: Tx,
  { work }: RangeKind,
  range: MemberRange,
  segment_id: string | null,
): Promise<MemberRange> {
  if (range.until_player_id !== null) return range;
  const { tenant_id, project_id, owner_id, occasion, from_player_id, members_before } = range;
  const cut = await tx<{ from_player_id: string }[]>`
    insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, members_before, from_player_id,
      until_player_id)
    select ${work}, ${tenant_id}, ${project_id}, ${owner_id}, ${occasion}, ${members_before}::timestamptz, player_id,
      lead(player_id) over (order by player_id)
    from (
      select player_id, row_number() over (order by player_id) as row_number
      from (
        select player_id from segment_members
        where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}::uuid
          and player_id >= ${from_player_id}::uuid
        order by player_id limit ${MAX_CUT * RANGE + 1}
      ) first_members
    ) m
    where row_number % ${RANGE} = 1 and row_number > 1
    order by player_id
    returning from_player_id`;
  return { ...range, until_player_id: cut[0]?.from_player_id ?? null };
}

/** Removes the ranges of an owner that no other transaction holds. Who holds one looks at the owner itself. */
export async function deleteRanges(tx: Tx, { tenant_id, project_id, owner_id }: RangeOwner): Promise<void> {
  await tx`
    with free as materialized (
      select ctid from member_ranges
      where tenant_id = ${tenant_id} and project_id = ${project_id} and owner_id = ${owner_id}
      for update skip locked
    )
    delete from member_ranges r using free where r.ctid = free.ctid`;
}
