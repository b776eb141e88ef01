import type { Tx } from '../../../platform/postgres/port.ts';
import type { WorkQuery } from '../../../platform/postgres/work-watch.ts';
import type { JourneyKey, LiveJourney } from './journey-queries.ts';

/** Players of one range. */
const RANGE = 1_000;
/** Ranges that are cut at once, in some 100 ms. */
const MAX_CUT = 100;
/**
 * What those who were members when the journey was first activated enter by: each of them once, also where the trigger is given
 * another segment later.
 */
export const EXISTING_MEMBERS = 'existing members';
/** The name of the entry of a segment's existing members, which begins once per journey. */
export const entryOfMembers = (segment_id: string) => `${EXISTING_MEMBERS} of ${segment_id}`;

/** Postgres notifies on this channel when a journey was activated. */
export const AUDIENCES_CHANNEL = 'journey_audiences';

/** Has audiences looked at when the transaction commits: a journey was activated. */
export async function notifyAudiences(tx: Tx): Promise<void> {
  await tx`select pg_notify(${AUDIENCES_CHANNEL}, '')`;
}

/** The active journeys that many players enter at once: by a schedule, or as existing members of a segment. */
export async function selectAudienceJourneys(sql: Tx): Promise<LiveJourney[]> {
  return sql<LiveJourney[]>`
    select j.tenant_id, j.project_id, j.journey_id, j.version, j.trigger_event, j.activated_at
    from journeys j
    join journey_versions v on v.tenant_id = j.tenant_id and v.project_id = j.project_id
      and v.journey_id = j.journey_id and v.version = j.version
    where j.status = 'active' and j.deleted_at is null and j.trigger_event is null and j.activated_at is not null
      and (v.trigger ->> 'kind' = 'schedule' or v.trigger -> 'existing_members' = 'true')
    order by j.journey_id`;
}

/** Whether an entry of the journey has begun. */
export async function hasOccasion(
  sql: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
  occasion: string,
): Promise<boolean> {
  const rows = await sql`
    select from journey_occasions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
      and occasion = ${occasion} limit 1`;
  return rows.length > 0;
}

/**
 * Begins the entry of the members of a segment with one range of all of them, which is cut when it is taken: so no
 * statement grows with the segment. Beginning an entry again changes nothing. Of earlier occurrences of a schedule, which come
 * no more, it forgets those that began over a week ago. `members_before`: only those enter who were members before.
 */
export async function insertEntry(
  sql: Tx,
  { tenant_id, project_id, journey_id, version }: JourneyKey & { version: number },
  occasion: string,
  members_before: Date | null = null,
): Promise<void> {
  await sql`
    with begun as (
      insert into journey_occasions (tenant_id, project_id, journey_id, occasion)
      values (${tenant_id}, ${project_id}, ${journey_id}, ${occasion})
      on conflict do nothing
      returning occasion
    ), past as (
      delete from journey_occasions
      where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
        and occasion <> ${occasion} and not starts_with(occasion, ${EXISTING_MEMBERS}) and begun_at < now() - interval '7 days' and exists (select from begun)
    )
    insert into journey_batches (tenant_id, project_id, journey_id, version, occasion, from_player_id, to_player_id,
      members_before)
    select ${tenant_id}, ${project_id}, ${journey_id}, ${version}, occasion, ${FIRST}, ${LAST},
      ${members_before}::timestamptz from begun`;
}

/** Before every id, and after every one: a range that ends there may have any number of players. */
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Cuts ranges of {@link RANGE} members from a locked range without an end, at most {@link MAX_CUT}. Returns the first of
 * them, which is the locked one with an end; the others wait, and the last of them again has no end. A range that has an
 * end, or no more members, comes back as it is.
 */
export async function cutRange(tx: Tx, range: Range, segment_id: string): Promise<Range> {
  if (range.to_player_id !== LAST) return range;
  const { tenant_id, project_id, journey_id, version, occasion, from_player_id, members_before } = range;
  const [cut] = await tx<{ end: string | null }[]>`
    with starts as materialized (
      select player_id, before from (
        select player_id, lag(player_id) over members as before, row_number() over members as number
        from (
          select player_id from segment_members
          where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
            and player_id >= ${from_player_id}
          order by player_id limit ${MAX_CUT * RANGE + 1}
        ) first_members
        window members as (order by player_id)
      ) m
      where number % ${RANGE} = 1 and number > 1
    ), others as (
      insert into journey_batches (tenant_id, project_id, journey_id, version, occasion, from_player_id, to_player_id,
        members_before)
      select ${tenant_id}, ${project_id}, ${journey_id}, ${version}, ${occasion}, player_id,
        lead(before, 1, ${LAST}::uuid) over (order by player_id), ${members_before}::timestamptz
      from starts
      on conflict do nothing
    ), shortened as (
      update journey_batches set to_player_id = (select before from starts order by player_id limit 1)
      where ${itself(tx, range)} and exists (select from starts)
    )
    select (select before from starts order by player_id limit 1) as end`;
  return { ...range, to_player_id: cut?.end ?? LAST };
}

function itself(tx: Tx, { tenant_id, project_id, journey_id, occasion, from_player_id }: Range) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
    and occasion = ${occasion} and from_player_id = ${from_player_id}`;
}

/** A range of players that enter a journey. */
export interface Range extends JourneyKey {
  version: number;
  occasion: string;
  from_player_id: string;
  to_player_id: string;
  /** Who became a member from then on enters in another way; null: all members enter. */
  members_before: Date | null;
}

/** Existing members whose entry a pause interrupts enter once the journey is resumed. */
function mayEnter(sql: Tx) {
  return sql`not (starts_with(b.occasion, ${EXISTING_MEMBERS}) and exists (
    select from journeys j where j.tenant_id = b.tenant_id and j.project_id = b.project_id
      and j.journey_id = b.journey_id and j.status = 'paused' and j.deleted_at is null))`;
}

/** Returns a row while a range waits for a process that takes it. */
export const audienceWork: WorkQuery = (sql) =>
  sql`select from journey_batches b where ${mayEnter(sql)} limit 1`;

/** Locks an open range that no other transaction holds: of the journey after `last`, so that journeys take turns. */
export async function takeRange(
  tx: Tx,
  last: JourneyKey | undefined,
  but_of: readonly string[],
): Promise<Range | undefined> {
  const take = async (after: string) => {
    const [range] = await tx<Range[]>`
      select tenant_id, project_id, journey_id, version, occasion, from_player_id, to_player_id, members_before
      from journey_batches b
      where journey_id > ${after}::uuid and journey_id <> all(${but_of}::text[]::uuid[]) and ${mayEnter(tx)}
      order by journey_id, from_player_id limit 1 for update of b skip locked`;
    return range;
  };
  return (await take(last?.journey_id ?? FIRST)) ?? (last === undefined ? undefined : take(FIRST));
}

/** Removes a locked range, whose players have entered. */
export async function endRange(tx: Tx, range: Range): Promise<void> {
  await tx`delete from journey_batches where ${itself(tx, range)}`;
}

/** Lets a locked range begin with another player: those before him have entered. */
export async function shortenRange(tx: Tx, range: Range, from_player_id: string): Promise<void> {
  await tx`update journey_batches set from_player_id = ${from_player_id} where ${itself(tx, range)}`;
}

/** Those who are members of the segment now, of the players of the range; with `members_before`: since a time before it. */
export async function selectRangeMembers(
  tx: Tx,
  { tenant_id, project_id, from_player_id, to_player_id, members_before }: Range,
  segment_id: string,
): Promise<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    select player_id from segment_members
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
      and player_id between ${from_player_id} and ${to_player_id}
      ${members_before === null ? tx`` : tx`and entered_at < ${members_before}`}
    order by player_id`;
}
