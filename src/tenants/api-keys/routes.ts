import { z } from 'zod';
import { API_KEYS_CHANNEL, API_KEY_ENVIRONMENTS, apiKeyPrefix } from '../../auth/api-key.ts';
import type { ApiKeyEnvironment } from '../../auth/api-key.ts';
import type { Authenticators } from '../../auth/authenticators.ts';
import { ApiError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Clock } from '../../platform/clock.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { createApiKey } from './create.ts';
import { revokeApiKey } from './queries.ts';
import { createApiKeyBody, createdApiKey, deletedApiKey } from './schema.ts';

interface Deps {
  clock: Clock;
  postgres: Postgres;
  notifications: Notifications;
  auth: Authenticators;
  service_env: ApiKeyEnvironment;
}

const whoAmI = z.object({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  environment: z.enum(API_KEY_ENVIRONMENTS),
});

/** API keys and the check of one (spec part 4, "API keys and identity"). */
export function apiKeyEndpoints(deps: Deps): AnyEndpoint[] {
  const session = { mode: 'session', role: 'admin', scope: 'tenant' } as const;
  return [
    endpoint({
      method: 'POST',
      path: '/v1/projects/:projectId/api-keys',
      summary: 'Makes an API key; the response is the only place that shows it',
      access: session,
      body: createApiKeyBody,
      status: 201,
      response: createdApiKey,
      errors: ['PROJECT_NOT_FOUND'],
      handle: async ({ caller, params, body }) => {
        const { tenant_id } = caller;
        const project_id = await deps.auth.projects.ofTenant(tenant_id, params['projectId'] ?? '');
        return envelope(
          await createApiKey(deps, { tenant_id, project_id, environment: deps.service_env, ...body }),
        );
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/projects/:projectId/api-keys/:id',
      summary: 'Revokes an API key; new requests with it fail from now on',
      access: session,
      status: 200,
      response: deletedApiKey,
      errors: ['PROJECT_NOT_FOUND', 'API_KEY_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const { tenant_id } = caller;
        const project_id = await deps.auth.projects.ofTenant(tenant_id, params['projectId'] ?? '');
        return envelope(await revokeKey(deps, tenant_id, project_id, params['id'] ?? ''));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/me',
      summary: 'What an API key stands for',
      access: { mode: 'api_key', rate: 'none' },
      status: 200,
      response: whoAmI,
      errors: [],
      handle: ({ caller: { tenant_id, project_id, environment } }) =>
        envelope({ tenant_id, project_id, environment }),
    }),
  ];
}

async function revokeKey(
  { clock, postgres, notifications, auth }: Deps,
  tenant_id: string,
  project_id: string,
  key_id: string,
): Promise<z.infer<typeof deletedApiKey>> {
  const deleted_at = new Date(clock.now_ms());
  const revoked = await postgres.asTenant(tenant_id, async (tx) => {
    if (!isUuid(key_id)) return undefined;
    const row = await revokeApiKey(tx, { tenant_id, project_id, key_id, deleted_at });
    if (row !== undefined) await notifications.notify(tx, API_KEYS_CHANNEL, row.public_id);
    return row;
  });
  if (revoked === undefined) {
    throw new ApiError('API_KEY_NOT_FOUND', `API key ${key_id.slice(0, 64)} does not exist`);
  }
  auth.api_keys.evict(revoked.public_id);
  return {
    id: revoked.key_id,
    name: revoked.name,
    prefix: apiKeyPrefix(revoked.environment, revoked.public_id),
    created_at: revoked.created_at.toISOString(),
    deleted_at: revoked.deleted_at.toISOString(),
  };
}
