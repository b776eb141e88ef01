import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The holdout of a project. */
export interface GlobalHoldout {
  /** 0 … 10. */
  holdout_percent: number;
  /** How often it was set: every change draws other players. */
  changes: number;
  changed_at: Date;
}

/** The project's holdout; no row when it was never set. */
export function selectGlobalHoldout(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
): PendingQuery<GlobalHoldout[]> {
  return tx<GlobalHoldout[]>`
    select holdout_percent, changes, changed_at from global_holdouts
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Sets the share that is held out, which begins a new round; the same share as before changes nothing. */
export async function saveGlobalHoldout(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  holdout_percent: number,
  now: Date,
): Promise<void> {
  await tx`
    insert into global_holdouts as g (tenant_id, project_id, holdout_percent, changed_at)
    values (${tenant_id}, ${project_id}, ${holdout_percent}, ${now})
    on conflict (tenant_id, project_id) do update
    set holdout_percent = excluded.holdout_percent, changes = g.changes + 1, changed_at = excluded.changed_at
    where g.holdout_percent <> excluded.holdout_percent`;
}
