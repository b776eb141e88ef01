import { z } from 'zod';
import { ROLES } from '../../http/auth/roles.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas } from '../../http/field-schemas.ts';

const user_id = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !text.includes('\0'), 'must not contain NUL')
  .describe('The `sub` of the user at the identity provider');
const role = z.enum(ROLES);

/** `GET /v1/members`. */
export const listMembersQuery = z.strictObject(PAGE_QUERY);

/** `POST` and `PATCH /v1/members`. */
export const memberBody = z.strictObject({ user_id, role });
export type MemberBody = z.infer<typeof memberBody>;

/** `DELETE /v1/members`; a user id may have any character, so it is a query parameter. */
export const removeMemberQuery = z.strictObject({ user_id });

export const memberResource = z.object({
  user_id: z.string(),
  role,
  status: z
    .enum(['invited', 'active'])
    .describe('`invited` until the user has come for the first time, and accepted'),
  created_at: z.iso.datetime(),
});

/** `GET /v1/invitations`. */
export const invitationsResource = z.object({
  invitations: z.array(z.object({ tenant_id: z.uuid(), tenant_name: z.string(), role })),
});

/** What became of an invitation. */
export const answeredInvitation = z.object({ tenant_id: z.uuid(), role, accepted: z.boolean() });

nameSchemas({ MemberBody: memberBody, Member: memberResource, Invitations: invitationsResource });
