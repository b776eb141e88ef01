import { EVENTS, isActivity } from '../../ingest/events/catalogue.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { OVER_ALL } from '../../segments/evaluation-queries.ts';
import { SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { QUARTER_MS, type ActiveQuarter } from './profile.ts';

const ACTIVITY = Object.keys(EVENTS).filter(isActivity);

/**
 * How many players were active by themselves in each quarter of an hour, from `from_ms` to before `to_ms`. Large numbers are
 * estimates. Repeated rows of an event change nothing: players are counted, so no row is compared with its earlier revisions.
 */
export async function readActiveQuarters(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  { from_ms, to_ms }: { from_ms: number; to_ms: number },
): Promise<ActiveQuarter[]> {
  const rows = await clickhouse.query<{ quarter: string; players: string }>(
    `select toString(intDiv(toUnixTimestamp64Milli(occurred_at), ${QUARTER_MS})) as quarter,
      toString(uniqCombined64(player_id)) as players
    from events
    where ${SCOPE} and event in {events:Array(String)}
      and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      and occurred_at < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
    group by quarter ${OVER_ALL}`,
    { ...project, events: ACTIVITY, from_ms, to_ms },
  );
  return rows.map(({ quarter, players }) => ({ quarter: Number(quarter), players: Number(players) }));
}

/** A project whose campaigns use their daily budgets by its profile, and when that was counted, by whose clocks. */
export interface ProfiledProject extends ProjectRef {
  timezone: string | null;
  counted_at: Date | null;
}

/** A page of the projects after `after` with a campaign that has an `even` daily budget and is not finished. */
export async function selectProfiled(
  sql: Tx,
  after: ProjectRef | undefined,
  limit: number,
): Promise<ProfiledProject[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (c.tenant_id, c.project_id) > (${after.tenant_id}, ${after.project_id})`;
  return sql<ProfiledProject[]>`
    select c.tenant_id, c.project_id, p.timezone, p.counted_at
    from (
      select distinct c.tenant_id, c.project_id from bonus_campaigns c
      where c.daily_budget_base is not null and c.finished_at is null and c.pace = 'even' ${beyond}
      order by c.tenant_id, c.project_id limit ${limit}) c
    left join lateral (
      select p.timezone, p.counted_at from activity_profiles p
      where p.tenant_id = c.tenant_id and p.project_id = c.project_id offset 0) p on true
    order by c.tenant_id, c.project_id`;
}

/** Replaces the profile of the project; `hours` null: there is too little activity. */
export async function storeProfile(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { timezone, hours, counted_at }: { timezone: string; hours: readonly number[] | null; counted_at: Date },
): Promise<void> {
  const digits = hours === null ? null : `{${hours.join(',')}}`;
  await tx`
    insert into activity_profiles (tenant_id, project_id, timezone, hours, counted_at)
    values (${tenant_id}, ${project_id}, ${timezone}, ${digits}::text::bigint[], ${counted_at})
    on conflict (tenant_id, project_id) do update set
      timezone = excluded.timezone, hours = excluded.hours, counted_at = excluded.counted_at`;
}
