import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** What runs in a project now. Money is in the smallest unit of the base currency, as digits. */
export interface ProjectState {
  base_currency: string;
  campaigns_scheduled: number;
  campaigns_sending: number;
  journeys_active: number;
  journeys_paused: number;
  runs_running: number;
  grants_open: number;
  grants_liability: string;
  self_excluded: number;
  cooling_off: number;
  banned: number;
}

/** Runs are counted up to here. */
export const MAX_RUNS_COUNTED = 100_000;

/** Counts what runs in a project; always one row. Each part reads an index of what it counts. */
export function readState(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  now: Date,
): PendingQuery<ProjectState[]> {
  const own = tx`tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return tx<ProjectState[]>`
    select t.base_currency, c.*, j.*, r.*, g.*, p.*
    from (select base_currency from tenants where tenant_id = ${tenant_id}) t,
    (
      select count(*) filter (where status = 'scheduled')::integer as campaigns_scheduled,
        count(*) filter (where status = 'sending')::integer as campaigns_sending
      from campaigns where ${own} and deleted_at is null) c,
    (
      select count(*) filter (where status = 'active')::integer as journeys_active,
        count(*) filter (where status = 'paused')::integer as journeys_paused
      from journeys where ${own} and deleted_at is null) j,
    (
      select count(*)::integer as runs_running from (
        select from (select journey_id from journeys where ${own}) j
        cross join lateral (
          select from journey_runs r
          where r.journey_id = j.journey_id and r.status = 'running' and r.tenant_id = ${tenant_id}
            and r.project_id = ${project_id} offset 0) r
        limit ${MAX_RUNS_COUNTED}) counted) r,
    (
      select count(*)::integer as grants_open, coalesce(sum(bonus_amount_base), 0)::text as grants_liability
      from bonus_grants where ${own} and status in ('pending', 'active') and created_at > '-infinity') g,
    (
      select count(*) filter (where self_excluded or status = 'self_excluded')::integer as self_excluded,
        count(*) filter (where cooldown_until > ${now})::integer as cooling_off,
        count(*) filter (where status = 'banned')::integer as banned
      from players where ${own} and deleted_at is null
        and (self_excluded or status in ('self_excluded', 'banned') or cooldown_until is not null)) p`;
}
