import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../../tenants/project-ref.ts';
import type { PlayerRef } from '../../../players/player-ref.ts';
import type { VersionRef } from './run-row.ts';

/** A journey as the runs of it need it. */
export interface JourneyState {
  journey_id: string;
  is_held: boolean;
  /** Runs that came due before stand still, too. */
  resuming_since: Date | null;
  is_deleted: boolean;
}

/** The journeys of these runs; a held one was not held when its runs were resumed after this statement. */
export async function selectJourneyStates(
  tx: Tx,
  runs: readonly (ProjectRef & { journey_id: string })[],
): Promise<JourneyState[]> {
  // Thousands of runs are of few journeys.
  const refs = [...new Map(runs.map((run) => [run.journey_id, run])).values()];
  return tx<JourneyState[]>`
    select j.journey_id, j.is_held, j.resuming_since, j.is_deleted
    from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, journey_id: 'uuid' })}
    cross join lateral (
      select j.journey_id, j.is_held, j.resuming_since, j.deleted_at is not null as is_deleted from journeys j
      where j.tenant_id = r.tenant_id and j.project_id = r.project_id and j.journey_id = r.journey_id offset 0) j`;
}

/** A version as it is stored. */
export interface StoredVersion extends Omit<VersionRef, 'tenant_id' | 'project_id'> {
  trigger: unknown;
  graph: unknown;
  settings: unknown;
}

/** These versions of journeys. */
export async function selectVersions(tx: Tx, refs: readonly VersionRef[]): Promise<StoredVersion[]> {
  return tx<StoredVersion[]>`
    select v.journey_id, v.version, v.trigger, v.graph, v.settings
    from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, journey_id: 'uuid', version: 'integer' })}
    cross join lateral (
      select * from journey_versions v
      where v.tenant_id = r.tenant_id and v.project_id = r.project_id and v.journey_id = r.journey_id
        and v.version = r.version offset 0) v`;
}

/** What runs may know of a player. */
export interface RunPlayer {
  player_id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  status: string;
  self_excluded: boolean;
  is_deleted: boolean;
  timezone: string | null;
  default_currency_code: string;
  current_tier_code: string | null;
  custom_attributes: Record<string, unknown>;
}

/** These players; deleted ones too. */
export async function selectRunPlayers(tx: Tx, refs: readonly PlayerRef[]): Promise<RunPlayer[]> {
  if (refs.length === 0) return [];
  return tx<RunPlayer[]>`
    select p.* from (select distinct * from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, player_id: 'uuid' })}) r
    cross join lateral (
      select p.player_id, p.external_id, p.email, p.phone, p.telegram_id, p.status, p.self_excluded,
        p.deleted_at is not null as is_deleted, p.timezone, p.default_currency_code, p.current_tier_code,
        p.custom_attributes
      from players p
      where p.player_id = r.player_id and p.tenant_id = r.tenant_id and p.project_id = r.project_id offset 0) p`;
}

/** Those of these templates that are not deleted. */
export async function selectTemplatesOf(
  tx: Tx,
  refs: readonly (ProjectRef & { id: string })[],
): Promise<{ project_id: string; template_id: string; is_active: boolean }[]> {
  if (refs.length === 0) return [];
  return tx<{ project_id: string; template_id: string; is_active: boolean }[]>`
    select r.project_id, t.template_id, t.is_active
    from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, template_id: ['uuid', (r) => r.id] })}
    cross join lateral (
      select t.template_id, t.status = 'active' as is_active from templates t
      where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.template_id = r.template_id
        and t.deleted_at is null offset 0) t`;
}

/** Those of these messaging providers that are not deleted. */
export async function selectProvidersOf(
  tx: Tx,
  refs: readonly { tenant_id: string; id: string }[],
): Promise<{ tenant_id: string; provider_id: string }[]> {
  if (refs.length === 0) return [];
  return tx<{ tenant_id: string; provider_id: string }[]>`
    select r.tenant_id, p.provider_id
    from ${rowsOf(tx, 'r', refs, { tenant_id: 'uuid', provider_id: ['uuid', (r) => r.id] })}
    cross join lateral (
      select p.provider_id from messaging_providers p
      where p.tenant_id = r.tenant_id and p.provider_id = r.provider_id and p.deleted_at is null offset 0) p`;
}

/** The time zones of players without one of their own, by tenant; a tenant that has configured none is omitted. */
export async function selectDefaultZones(
  tx: Tx,
  tenant_ids: readonly string[],
): Promise<{ tenant_id: string; timezone: string }[]> {
  return tx<{ tenant_id: string; timezone: string }[]>`
    select tenant_id, config #>> '{messaging,quiet_hours,default_timezone}' as timezone from tenant_configs
    where tenant_id = any(${plainArray(tenant_ids)}::text::uuid[])
      and config #>> '{messaging,quiet_hours,default_timezone}' is not null`;
}
