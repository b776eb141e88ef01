import type { Tx } from '../../../platform/postgres/port.ts';
import { rangeWork, type MemberRange, type RangeKind } from '../../member-ranges/range-queries.ts';
import type { JourneyKey, LiveJourney } from './journey-queries.ts';

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
 * Notes that an entry of the journey begins, unless it has begun before; returns whether it begins now. It
 * also forgets occurrences of a schedule that began over a week ago: they do not come again.
 */
export async function beginOccasion(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
  occasion: string,
): Promise<boolean> {
  const rows = await tx`
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
    select from begun`;
  return rows.length > 0;
}

/** Members who enter a journey. Existing members whose entry a pause interrupts enter once the journey is resumed. */
export const JOURNEY_RANGES: RangeKind = {
  work: 'journey',
  mayBeTaken: (sql) => sql`not (starts_with(r.occasion, ${EXISTING_MEMBERS}) and exists (
    select from journeys j where j.tenant_id = r.tenant_id and j.project_id = r.project_id
      and j.journey_id = r.owner_id and j.status = 'paused' and j.deleted_at is null))`,
};

/** Returns a row while a range waits for a process that takes it. */
export const audienceWork = rangeWork(JOURNEY_RANGES);

/** Those of the range who are members of the segment now; with `members_before`: since a time before it. */
export async function selectRangeMembers(
  tx: Tx,
  { tenant_id, project_id, from_player_id, until_player_id, members_before }: MemberRange,
  segment_id: string,
): Promise<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    select player_id from segment_members
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
      and player_id >= ${from_player_id} ${until_player_id === null ? tx`` : tx`and player_id < ${until_player_id}`}
      ${members_before === null ? tx`` : tx`and entered_at < ${members_before}`}
    order by player_id`;
}
