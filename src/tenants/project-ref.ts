/** A project of a tenant. */
export interface ProjectRef {
  tenant_id: string;
  project_id: string;
}

/** The project of a caller or a row, without its other fields. */
export function projectRefOf({ tenant_id, project_id }: ProjectRef): ProjectRef {
  return { tenant_id, project_id };
}

/** The columns of a {@link ProjectRef}, for `rowsOf`. */
export const PROJECT_KEY = { tenant_id: 'uuid', project_id: 'uuid' } as const;
