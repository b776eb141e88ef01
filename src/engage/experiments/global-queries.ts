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

/** A share that a project holds or held out. */
export interface HeldOutShare extends GlobalHoldout {
  /** When the next change ended it; null: it is the present one. */
  ended_at: Date | null;
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

/** The shares of a project, the newest first, at most `limit`; with `changes` only this one. */
export function selectShares(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { limit, changes }: { limit: number; changes?: number },
): PendingQuery<HeldOutShare[]> {
  return tx<HeldOutShare[]>`
    select s.holdout_percent, s.changes, s.changed_at, (
      select n.changed_at from global_holdout_shares n
      where n.tenant_id = s.tenant_id and n.project_id = s.project_id and n.changes = s.changes + 1) as ended_at
    from global_holdout_shares s
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id}
      ${changes === undefined ? tx`` : tx`and s.changes = ${changes}`}
    order by s.changes desc limit ${limit}`;
}

/** Sets the share that is held out, which begins a new round; the same share as before changes nothing. */
export async function saveGlobalHoldout(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  holdout_percent: number,
  now: Date,
): Promise<void> {
  await tx`
    with changed as (
      insert into global_holdouts as g (tenant_id, project_id, holdout_percent, changed_at)
      values (${tenant_id}, ${project_id}, ${holdout_percent}, ${now})
      on conflict (tenant_id, project_id) do update
      set holdout_percent = excluded.holdout_percent, changes = g.changes + 1, changed_at = excluded.changed_at
      where g.holdout_percent <> excluded.holdout_percent
      returning changes)
    insert into global_holdout_shares (tenant_id, project_id, changes, holdout_percent, changed_at)
    select ${tenant_id}, ${project_id}, changes, ${holdout_percent}, ${now} from changed`;
}
