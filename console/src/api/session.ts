import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { Session } from '@player-engagement/client/admin';
import { everyOf } from './choices.ts';
import { client } from './client.ts';

export type Role = Session['tenants'][number]['role'];
/** Roles of a tenant's members, from the least to the most powerful; compliance officers are not part of that order. */
export const ROLES = everyOf<Role>()(['viewer', 'editor', 'admin', 'owner', 'compliance']);

export type { Session };

/** The project that the pages are about, and what the user may do there. */
export interface Place {
  tenant_id: string;
  project_id: string;
  tenant_name: string;
  project_name: string;
  role: Role;
  base_currency: string;
  /** The operator's IANA time zone. */
  timezone: string;
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => client.session({ signal }),
  staleTime: 60_000,
});

/** The session; only inside of the signed-in part of the pages. */
export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data;
}

/** All places of the session, in its order. */
export function placesOf(session: Session): Place[] {
  return session.tenants.flatMap(({ id: tenant_id, name, role, base_currency, time_zone, projects }) =>
    projects.map((project) => ({
      tenant_id,
      tenant_name: name,
      project_id: project.id,
      project_name: project.name,
      role,
      base_currency,
      timezone: time_zone ?? 'UTC',
    })),
  );
}

/** Who may do what needs a role, as the API has it. */
const HOLDERS = {
  viewer: ROLES,
  editor: ['editor', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
  compliance: ['compliance', 'admin', 'owner'],
  personal_data: ['compliance', 'editor', 'admin', 'owner'],
} as const satisfies Record<string, readonly Role[]>;

/** Whether a member with `role` may do what needs `needed`. */
export function roleAllows(role: Role, needed: keyof typeof HOLDERS): boolean {
  const holders: readonly Role[] = HOLDERS[needed];
  return holders.includes(role);
}
