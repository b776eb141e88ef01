/** The roles of a tenant's members, from the least to the most powerful. */
export const ROLES_ASCENDING = ['viewer', 'editor', 'admin', 'owner'] as const;

export type Role = (typeof ROLES_ASCENDING)[number];

/** Whether `role` is `needed` or a more powerful role. */
export function roleAllows(role: Role, needed: Role): boolean {
  return ROLES_ASCENDING.indexOf(role) >= ROLES_ASCENDING.indexOf(needed);
}
