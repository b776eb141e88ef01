/** A project of a tenant. */
export interface Place {
  tenant_id: string;
  project_id: string;
}

/** Where a caller works, without what else is known of it. */
export function placeOf({ tenant_id, project_id }: Place): Place {
  return { tenant_id, project_id };
}
