import type { PendingQuery } from 'postgres';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { ModelStatus } from '../model-queries.ts';
import type { SendTimeFit } from '../schema.ts';

/** The last fit of a project. */
export interface StoredSendTimeModel {
  status: ModelStatus;
  as_of: Date;
  fitted_at: Date;
  fit: SendTimeFit;
}

/** The last fit of the project; no row before the first one. */
export function selectSendTimeModel(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
): PendingQuery<StoredSendTimeModel[]> {
  return tx<StoredSendTimeModel[]>`
    select status, as_of, fitted_at, fit from send_time_models
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Replaces the last fit of the project. */
export async function storeSendTimeModel(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { status, as_of, fitted_at, fit }: StoredSendTimeModel,
): Promise<void> {
  await tx`
    insert into send_time_models (tenant_id, project_id, status, as_of, fitted_at, fit)
    values (${tenant_id}, ${project_id}, ${status}, ${as_of}, ${fitted_at}, ${JSON.stringify(fit)}::text::jsonb)
    on conflict (tenant_id, project_id) do update set status = excluded.status, as_of = excluded.as_of,
      fitted_at = excluded.fitted_at, fit = excluded.fit`;
}

/** A player's hours as they are stored; null: too few sessions. */
export interface StoredHours {
  player_id: string;
  session_hours: Buffer | null;
}

/** The stored hours of those of the players who are not deleted. */
export async function readHours(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<StoredHours[]> {
  return tx<StoredHours[]>`
    select p.player_id, p.session_hours
    from unnest(${plainArray(player_ids)}::text::uuid[]) as g (player_id)
    cross join lateral (
      select o.player_id, o.session_hours from players o
      where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.deleted_at is null offset 0) p`;
}

/** Writes the hours of players; not of those who were erased or deleted meanwhile. Locks in the order of their ids. */
export async function writeHours(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  changed: readonly StoredHours[],
): Promise<void> {
  const ordered = changed.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  await tx`
    with locked as materialized (
      select f.ctid, g.session_hours
      from ${rowsOf(tx, 'g', ordered, { player_id: 'uuid', session_hours: 'bytea', place: 'ordinality' })}
      cross join lateral (
        select o.ctid from players o
        where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
          and o.deleted_at is null and o.erased_at is null
        for no key update) f
      order by g.place
    )
    update players p set session_hours = l.session_hours from locked l where p.ctid = l.ctid`;
}
