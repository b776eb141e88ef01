import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';

export interface Project {
  tenant_id: string;
  project_id: string;
}

/** Every project, or those of one tenant. */
export async function listProjects(tx: Tx, tenant_id: string | undefined): Promise<Project[]> {
  return tx<Project[]>`
    select tenant_id, project_id from projects
    ${tenant_id === undefined ? tx`` : tx`where tenant_id = ${tenant_id}`}
    order by tenant_id, project_id`;
}

/** Notes when the stores of tenants were compared, and in how many places they differed. */
export async function storeReconciliations(
  tx: Tx,
  tenants: readonly { tenant_id: string; differences: number }[],
  ended_at: Date,
): Promise<void> {
  await tx`
    insert into reconciliations (tenant_id, ended_at, differences)
    select r.tenant_id, ${ended_at}, r.differences
    from ${rowsOf(tx, 'r', tenants, { tenant_id: 'uuid', differences: 'bigint' })}
    on conflict (tenant_id) do update set ended_at = excluded.ended_at, differences = excluded.differences`;
}
