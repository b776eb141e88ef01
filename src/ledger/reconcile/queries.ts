import type { Tx } from '../../platform/postgres/port.ts';

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
