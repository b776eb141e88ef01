import { z } from 'zod';
import type { ApiKeyEnvironment } from '../../http/auth/api-key.ts';
import type { SessionPrincipal, UserPrincipal } from '../../http/auth/session.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { readOwnConfig } from '../config/read.ts';
import { selectTenantName } from '../queries.ts';
import { listProjects, selectOldestProjects } from './queries.ts';
import { listProjectsQuery, projectResource, sessionResource } from './schema.ts';

/** The oldest memberships of a user, and the oldest projects of a tenant, that are shown. */
const MAX_TENANTS = 50;
const MAX_PROJECTS = 200;

interface Deps {
  postgres: Postgres;
  service_env: ApiKeyEnvironment;
}

/** Who a session belongs to, and the projects of a tenant. */
export function sessionEndpoints({ postgres, service_env }: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/session',
      summary: 'The user of the session, with their role and the projects in each tenant',
      access: { mode: 'user' },
      response: sessionResource,
      handle: async ({ caller }) => envelope(await sessionOf(postgres, service_env, caller)),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/projects',
      summary: 'Lists the projects of the tenant, the newest first',
      access: { mode: 'session', role: 'viewer', scope: 'tenant' },
      query: listProjectsQuery,
      response: z.array(projectResource),
      shape: 'list',
      handle: ({ caller: { tenant_id }, query }) =>
        listOf(postgres, { tenant_id }, query, {
          kind: 'projects',
          select: (tx, after, limit) => listProjects(tx, tenant_id, after, limit),
          positionOf: (row) => [row.created_us, row.project_id],
          show: ({ project_id: id, name, created_at }) => ({ id, tenant_id, name, created_at }),
        }),
    }),
  ];
}

async function sessionOf(
  postgres: Postgres,
  environment: ApiKeyEnvironment,
  { user_id, memberships }: UserPrincipal,
): Promise<z.infer<typeof sessionResource>> {
  const shown = memberships.slice(0, MAX_TENANTS);
  return { user_id, environment, tenants: await Promise.all(shown.map((one) => tenantOf(postgres, one))) };
}

/** Each tenant is read as that tenant, so that row-level security holds here, too. */
async function tenantOf(postgres: Postgres, { tenant_id, role }: SessionPrincipal) {
  const [names, { base_currency, config }, projects] = await Promise.all([
    postgres.readAsTenant(tenant_id, (tx) => selectTenantName(tx, tenant_id)),
    readOwnConfig(postgres, tenant_id),
    postgres.readAsTenant(tenant_id, (tx) => selectOldestProjects(tx, tenant_id, MAX_PROJECTS)),
  ]);
  return {
    id: tenant_id,
    name: names[0]?.name ?? '',
    role,
    base_currency,
    time_zone: config.messaging?.quiet_hours?.default_timezone ?? null,
    projects: projects.map(({ project_id: id, name }) => ({ id, name })),
  };
}
