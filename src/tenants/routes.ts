import { z } from 'zod';
import type { Authenticators } from '../http/auth/authenticators.ts';
import type { DevIssuer } from '../http/auth/dev-issuer.ts';
import { endpoint, type AnyEndpoint } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import {
  createProject,
  createTenant,
  removeMembership,
  setMembership,
  type OnTenantCreated,
} from './provision.ts';
import {
  createProjectBody,
  createTenantBody,
  devSessionBody,
  membershipBody,
  removedMembership,
  removeMembershipQuery,
} from './schema.ts';

interface Deps {
  postgres: Postgres;
  notifications: Notifications;
  onTenantCreated: OnTenantCreated;
  auth: Authenticators;
}

/** Provisioning; the endpoints that sign users in exist only with the development issuer. */
export function tenantEndpoints(deps: Deps): AnyEndpoint[] {
  const { postgres, notifications, onTenantCreated, auth } = deps;
  const shared = { method: 'POST', access: { mode: 'internal' }, status: 201 } as const;
  const endpoints = [
    endpoint({
      ...shared,
      path: '/v1/internal/tenants',
      audit: { resource: 'tenant', action: 'create' },
      summary: 'Creates a tenant with a project, the default currencies and an owner',
      body: createTenantBody,
      response: z.object({ tenant_id: z.uuid(), project_id: z.uuid() }),
      handle: async ({ body, audit }) => {
        const created = await createTenant(postgres.service, { notifications, onTenantCreated, audit }, body);
        auth.sessions.evict(body.admin_user_id);
        return envelope(created);
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/internal/projects',
      audit: { resource: 'project', action: 'create' },
      summary: 'Creates one more project of a tenant',
      body: createProjectBody,
      response: z.object({ project_id: z.uuid() }),
      errors: ['TENANT_NOT_FOUND'],
      handle: async ({ body, audit }) => envelope(await createProject(postgres.service, audit, body)),
    }),
    endpoint({
      ...shared,
      path: '/v1/internal/memberships',
      audit: { resource: 'membership', action: 'update' },
      summary: "Adds a member to a tenant, or changes a member's role",
      body: membershipBody,
      response: membershipBody,
      errors: ['TENANT_NOT_FOUND'],
      handle: async ({ body, audit }) => {
        const membership = await setMembership(postgres.service, { notifications, audit }, body);
        auth.sessions.evict(membership.user_id);
        return envelope(membership);
      },
    }),
    removeMembershipEndpoint(deps),
  ];
  return auth.dev_issuer === undefined ? endpoints : [...endpoints, ...developmentEndpoints(auth.dev_issuer)];
}

function developmentEndpoints(dev_issuer: DevIssuer): AnyEndpoint[] {
  const shared = { method: 'POST', access: { mode: 'internal' }, status: 201 } as const;
  const devSession = endpoint({
    ...shared,
    path: '/v1/internal/dev-sessions',
    audit: { none: 'development only: what it signs is of no tenant' },
    summary: 'Signs a session that lasts 30 days (development only)',
    body: devSessionBody,
    response: z.object({ session_token: z.string() }),
    handle: async ({ body }) => envelope({ session_token: await dev_issuer.issueSession(body.user_id) }),
  });
  const devSignIn = endpoint({
    ...shared,
    path: '/v1/internal/dev-sign-ins',
    audit: { none: 'development only: whom it signs in is of no tenant' },
    summary: 'Creates a token for one sign-in to the console within a day (development only)',
    body: devSessionBody,
    response: z.object({
      sign_in_token: z.string().describe('Open `/console/#sign-in=<sign_in_token>` of the base API'),
    }),
    handle: async ({ body }) => envelope({ sign_in_token: dev_issuer.issueSignIn(body.user_id) }),
  });
  return [devSession, devSignIn];
}

function removeMembershipEndpoint({ postgres, notifications, auth }: Deps): AnyEndpoint {
  return endpoint({
    method: 'DELETE',
    path: '/v1/internal/memberships',
    audit: { resource: 'membership', action: 'delete' },
    summary:
      'Ends a membership, except that of the last owner: sessions of the user lose access to the tenant',
    access: { mode: 'internal' },
    query: removeMembershipQuery,
    response: removedMembership,
    errors: ['TENANT_NOT_FOUND', 'CONFLICT'],
    handle: async ({ query, audit }) => {
      const { removed } = await removeMembership(postgres.service, { notifications, audit }, query);
      auth.sessions.evict(query.user_id);
      return envelope({ ...query, removed });
    },
  });
}
