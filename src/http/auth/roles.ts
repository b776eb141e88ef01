/** The roles of a tenant's members that include each other, from the least to the most powerful. */
export const ROLES_ASCENDING = ['viewer', 'editor', 'admin', 'owner'] as const;

/** All roles that a member can have: `compliance` is not a step of the ladder. */
export const ROLES = [...ROLES_ASCENDING, 'compliance'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Who may call what needs a role: the one table of that. A compliance officer reads what viewers read, and what concerns
 * the protection of players, but changes no campaign and no configuration. Personal data of one player are shown, and that is
 * noted, to those who work with them.
 */
const HOLDERS = {
  viewer: ['viewer', 'compliance', 'editor', 'admin', 'owner'],
  editor: ['editor', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
  compliance: ['compliance', 'admin', 'owner'],
  personal_data: ['compliance', 'editor', 'admin', 'owner'],
} as const satisfies Record<string, readonly Role[]>;

/** What an endpoint needs: a role, or the right to see personal data. */
export type Needed = keyof typeof HOLDERS;

/** Whether `role` may do what needs `needed`. */
export function roleAllows(role: Role, needed: Needed): boolean {
  const holders: readonly Role[] = HOLDERS[needed];
  return holders.includes(role);
}

/** The roles that may do what needs `needed`, as text: `admin or above`, `compliance, admin or owner`. */
export function describeNeeded(needed: Needed): string {
  if (ROLES_ASCENDING.some((role) => role === needed)) return `${needed} or above`;
  return HOLDERS[needed].join(', ').replace(/, (\w+)$/, ' or $1');
}
