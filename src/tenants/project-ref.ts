/** A project of a tenant. */
export interface ProjectRef {
  tenant_id: string;
  project_id: string;
}

/** Where a caller works, without what else is known of it. */
export function projectRefOf({ tenant_id, project_id }: ProjectRef): ProjectRef {
  return { tenant_id, project_id };
}
