import type { PendingQuery } from 'postgres';
import { microseconds, type Listed, type PageOf, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** A project as lists show it. */
export interface ProjectRow {
  project_id: string;
  name: string;
  created_at: Date;
}

/** At most `limit` projects of the tenant, the oldest first: calls that name no project work on that one. */
export function selectOldestProjects(tx: Tx, tenant_id: string, limit: number): PendingQuery<ProjectRow[]> {
  return tx<ProjectRow[]>`
    select project_id, name, created_at from projects where tenant_id = ${tenant_id}
    order by created_at, project_id limit ${limit}`;
}

/** A page of the projects of the tenant, the newest first. A tenant has few, so they are sorted. */
export function listProjects(
  tx: Tx,
  tenant_id: string,
  after: TimePosition | undefined,
  limit: number,
): PageOf<ProjectRow> {
  const [time_us, id] = after ?? [];
  const beyond =
    after === undefined
      ? tx``
      : tx`and (created_at, project_id) <
          ('epoch'::timestamptz + ${time_us ?? ''}::bigint * interval '1 microsecond', ${id ?? ''}::uuid)`;
  return tx<Listed<ProjectRow>[]>`
    select project_id, name, created_at, ${microseconds(tx, 'created_at')} as created_us
    from projects where tenant_id = ${tenant_id} ${beyond}
    order by created_at desc, project_id desc limit ${limit}`;
}
