import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { z } from 'zod';
import type { model, ModelFit } from './schema.ts';

/** `on`: its scores are written. `off`: it is worse than plain recency. `waiting`: there is too little to judge it. */
export type ModelStatus = z.infer<typeof model>['status'];

/** The last fit of a project. */
export interface StoredModel {
  status: ModelStatus;
  as_of: Date;
  fitted_at: Date;
  /** Whole numbers as digits, in the smallest unit of the base currency: the sums over all players. */
  ngr: string;
  total_deposited: string;
  fit: ModelFit;
}

/** The last fit of the project; no row before the first one. */
export function selectModel(tx: Tx, { tenant_id, project_id }: ProjectRef): PendingQuery<StoredModel[]> {
  return tx<StoredModel[]>`
    select status, as_of, fitted_at, ngr::text as ngr, deposited::text as total_deposited, fit
    from score_models where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Replaces the last fit of the project. */
export async function storeModel(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { status, as_of, fitted_at, ngr, total_deposited, fit }: StoredModel,
): Promise<void> {
  await tx`
    insert into score_models (tenant_id, project_id, status, as_of, fitted_at, ngr, deposited, fit)
    values (${tenant_id}, ${project_id}, ${status}, ${as_of}, ${fitted_at}, ${ngr}::text::numeric,
      ${total_deposited}::text::numeric, ${JSON.stringify(fit)}::text::jsonb)
    on conflict (tenant_id, project_id) do update set status = excluded.status, as_of = excluded.as_of,
      fitted_at = excluded.fitted_at, ngr = excluded.ngr, deposited = excluded.deposited, fit = excluded.fit`;
}

/** A page of the projects of all tenants in the order of their ids. */
export async function selectProjects(
  sql: Tx,
  after: ProjectRef | undefined,
  limit: number,
): Promise<ProjectRef[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`where (tenant_id, project_id) > (${after.tenant_id}, ${after.project_id})`;
  return sql<ProjectRef[]>`
    select tenant_id, project_id from projects ${beyond} order by tenant_id, project_id limit ${limit}`;
}
