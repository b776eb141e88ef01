import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID, type PageQuery } from '../../http/keyset-page.ts';
import type { TimePosition } from '../../platform/postgres/keyset.ts';
import { addMember, changeMember, removeMember, type MemberDeps } from './change.ts';
import { listMembers, type ListedMember, type MemberRow } from './queries.ts';
import { listMembersQuery, memberBody, memberResource, removeMemberQuery } from './schema.ts';

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
      status: 200,
      response: z.array(memberResource),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => memberPage(deps, caller.tenant_id, query),
    }),
    endpoint({
      ...shared,
      method: 'POST',
      summary: 'Adds a member to the tenant; only owners make owners',
      audit: { resource: 'membership', action: 'create' },
      body: memberBody,
      status: 201,
      response: memberResource,
      errors: ['CONFLICT'],
      handle: async ({ caller, body, audit }) =>
        envelope(resourceOf(await addMember({ ...deps, audit }, caller, body))),
    }),
    endpoint({
      ...shared,
      method: 'PATCH',
      summary: 'Gives a member another role; the last owner stays one, and only owners change owners',
      audit: { resource: 'membership', action: 'update' },
      body: memberBody,
      status: 200,
      response: memberResource,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, body, audit }) =>
        envelope(resourceOf(await changeMember({ ...deps, audit }, caller, body))),
    }),
    endpoint({
      ...shared,
      method: 'DELETE',
      summary: 'Ends a membership; not that of the last owner',
      audit: { resource: 'membership', action: 'delete' },
      query: removeMemberQuery,
      status: 200,
      response: memberResource,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, query, audit }) =>
        envelope(resourceOf(await removeMember({ ...deps, audit }, caller, query.user_id))),
    }),
  ];
}

function resourceOf({ user_id, role, created_at }: MemberRow) {
  return { user_id, role, created_at };
}

async function memberPage({ postgres }: MemberDeps, tenant_id: string, page: PageQuery): Promise<string> {
  const { rows, next_cursor } = await readPage<ListedMember, TimePosition>(
    {
      scope: { kind: 'members', project_id: tenant_id, filters: {} },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.mark],
      select: (after, count) =>
        postgres.readAsTenant(tenant_id, (tx) => listMembers(tx, tenant_id, after, count)),
    },
    page,
  );
  return envelope(rows.map(resourceOf), { next_cursor });
}
