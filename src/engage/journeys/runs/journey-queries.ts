import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';

/** The key of a journey. */
export interface JourneyKey extends ProjectRef {
  journey_id: string;
}

/** A journey as entering it and reading its runs need it. */
export interface JourneyRow {
  journey_id: string;
  name: string;
  status: 'draft' | 'active' | 'paused';
  version: number | null;
  deleted_at: Date | null;
}

/** The journey, deleted or not. */
export async function selectJourney(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
): Promise<JourneyRow | undefined> {
  const [row] = await tx<JourneyRow[]>`
    select journey_id, name, status, version, deleted_at from journeys
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
  return row;
}

/** Whether runs of some version of the journey wait for events, or end by them. */
export async function watchesEvents(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
): Promise<boolean> {
  const rows = await tx`
    select from journey_watched
    where journey_id = ${journey_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      and kind <> 'segment_exited' limit 1`;
  return rows.length > 0;
}

/** Stores why runs of the journey or events for it wait; null: they do not. */
export async function noteJourneyError(
  sql: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
  message: string | null,
): Promise<void> {
  await sql`
    update journeys set last_error = ${message}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}
      and last_error is distinct from ${message}`;
}

/** An active journey, with its live version. */
export interface LiveJourney extends JourneyKey {
  version: number;
  trigger_event: string | null;
  activated_at: Date;
}

/** The active journeys of these projects that events start. */
export async function selectListening(sql: Tx, projects: readonly ProjectRef[]): Promise<LiveJourney[]> {
  return sql<LiveJourney[]>`
    select j.* from ${rowsOf(sql, 'p', projects, PROJECT_KEY)}
    cross join lateral (
      select tenant_id, project_id, journey_id, version, trigger_event, activated_at from journeys j
      where j.tenant_id = p.tenant_id and j.project_id = p.project_id and j.trigger_event is not null
        and j.status = 'active' and j.deleted_at is null and j.version is not null and j.activated_at is not null
      offset 0) j`;
}

/** The active journeys of these projects that players enter by entering or leaving a segment. */
export async function selectSegmentJourneys(
  sql: Tx,
  projects: readonly ProjectRef[],
): Promise<LiveJourney[]> {
  return sql<LiveJourney[]>`
    select j.* from ${rowsOf(sql, 'p', projects, PROJECT_KEY)}
    cross join lateral (
      select j.tenant_id, j.project_id, j.journey_id, j.version, j.trigger_event, j.activated_at
      from journeys j
      join journey_versions v on v.tenant_id = j.tenant_id and v.project_id = j.project_id
        and v.journey_id = j.journey_id and v.version = j.version
      where j.tenant_id = p.tenant_id and j.project_id = p.project_id and j.trigger_event is null
        and j.status = 'active' and j.deleted_at is null and j.activated_at is not null
        and v.trigger ->> 'kind' in ('segment_entered', 'segment_exited')
      offset 0) j`;
}
