import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import { addMember, changeMember, removeMember, type MemberDeps, memberResourceOf } from './change.ts';
import { listMembers } from './queries.ts';
import { acceptInvitation, declineInvitation, invitationsOf } from './invitations.ts';
import {
  answeredInvitation,
  invitationsResource,
  listMembersQuery,
  memberBody,
  memberResource,
  removeMemberQuery,
} from './schema.ts';

/** The members of a tenant and their roles, for admins. */
export function memberEndpoints(deps: MemberDeps): AnyEndpoint[] {
  const shared = {
    path: '/v1/members',
    access: { mode: 'session', role: 'admin', scope: 'tenant' },
  } as const;
  return [
    endpoint({
      ...shared,
      method: 'GET',
      summary: 'Lists the members of the tenant, the newest first',
      query: listMembersQuery,
      response: z.array(memberResource),
      shape: 'list',
      handle: ({ caller, query }) =>
        listOf(deps.postgres, { tenant_id: caller.tenant_id }, query, {
          kind: 'members',
          select: (tx, after, limit) => listMembers(tx, caller.tenant_id, after, limit),
          positionOf: (row) => [row.created_us, row.mark],
          show: memberResourceOf,
        }),
    }),
    endpoint({
      ...shared,
      method: 'POST',
      summary:
        'Invites a user, who is a member when they accept; a user of no other operator accepts with their first call. Only owners create owners',
      audit: { resource: 'membership', action: 'create' },
      body: memberBody,
      status: 201,
      response: memberResource,
      errors: ['CONFLICT'],
      handle: async ({ caller, body, audit }) =>
        envelope(memberResourceOf(await addMember({ ...deps, audit }, caller, body))),
    }),
    endpoint({
      ...shared,
      method: 'PATCH',
      summary: 'Changes the role of a member; the last owner keeps the role, and only owners change owners',
      audit: { resource: 'membership', action: 'update' },
      body: memberBody,
      response: memberResource,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, body, audit }) =>
        envelope(memberResourceOf(await changeMember({ ...deps, audit }, caller, body))),
    }),
    endpoint({
      ...shared,
      method: 'DELETE',
      summary: 'Ends a membership, except that of the last owner',
      audit: { resource: 'membership', action: 'delete' },
      query: removeMemberQuery,
      response: memberResource,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, query, audit }) =>
        envelope(memberResourceOf(await removeMember({ ...deps, audit }, caller, query.user_id))),
    }),
  ];
}

/** The invitations of the user from all tenants, not only from the one that the headers name. */
export function invitationEndpoints(deps: MemberDeps): AnyEndpoint[] {
  const access = { mode: 'user' } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/invitations',
      summary: 'Lists the invitations of the user, the oldest first',
      access,
      response: invitationsResource,
      handle: async ({ caller }) => envelope({ invitations: await invitationsOf(deps, caller) }),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/invitations/:tenant_id/accept',
      summary: 'Accepts an invitation; calls of a member of several tenants must name the tenant',
      audit: { resource: 'membership', action: 'update' },
      access,
      response: answeredInvitation,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) => {
        const tenant_id = (params['tenant_id'] ?? '').toLowerCase();
        const { role } = await acceptInvitation({ ...deps, audit }, caller, tenant_id);
        return envelope({ tenant_id, role, accepted: true });
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/invitations/:tenant_id',
      summary: 'Declines an invitation',
      audit: { resource: 'membership', action: 'delete' },
      access,
      response: answeredInvitation,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) => {
        const tenant_id = (params['tenant_id'] ?? '').toLowerCase();
        const { role } = await declineInvitation({ ...deps, audit }, caller, tenant_id);
        return envelope({ tenant_id, role, accepted: false });
      },
    }),
  ];
}
