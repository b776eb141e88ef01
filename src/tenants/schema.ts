import { z } from 'zod';
import { nameSchemas, trimmedText } from '../http/field-schemas.ts';
import { ROLES } from '../http/auth/roles.ts';
import { BASE_CURRENCIES } from './currency-catalogue.ts';

const name = trimmedText(1, 200);
const user_id = z.string().min(1).max(255).describe('The `sub` of the user’s session tokens');

/** `POST /v1/internal/tenants`. */
export const createTenantBody = z.strictObject({
  name,
  base_currency: z.enum(BASE_CURRENCIES),
  project_name: name,
  admin_user_id: user_id,
});
export type CreateTenantBody = z.infer<typeof createTenantBody>;

export const createProjectBody = z.strictObject({ tenant_id: z.guid(), name });
export type CreateProjectBody = z.infer<typeof createProjectBody>;

export const membershipBody = z.strictObject({ tenant_id: z.guid(), user_id, role: z.enum(ROLES) });
export type MembershipBody = z.infer<typeof membershipBody>;

/** `DELETE /v1/internal/memberships`; a user id may have any character, so it is a query parameter. */
export const removeMembershipQuery = z.strictObject({ tenant_id: z.guid(), user_id });
export type RemoveMembershipQuery = z.infer<typeof removeMembershipQuery>;

/** `removed` is false when the user was not a member. */
export const removedMembership = removeMembershipQuery.extend({ removed: z.boolean() });

export const devSessionBody = z.strictObject({ user_id });

nameSchemas({
  CreateTenantBody: createTenantBody,
  CreateProjectBody: createProjectBody,
  MembershipBody: membershipBody,
  RemovedMembership: removedMembership,
  DevSessionBody: devSessionBody,
});
