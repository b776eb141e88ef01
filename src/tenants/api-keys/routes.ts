import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { API_KEYS_CHANNEL, API_KEY_ENVIRONMENTS, type ApiKeyEnvironment } from '../../http/auth/api-key.ts';
import type { Authenticators } from '../../http/auth/authenticators.ts';
import type { SessionPrincipal } from '../../http/auth/session.ts';
import { ApiError, validationError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../project-ref.ts';
import {
  listedApiKeyOf,
  publicFieldsOf,
  createApiKeyBody,
  createdApiKey,
  deletedApiKey,
  listApiKeysQuery,
  listedApiKey,
  ONLY_OF_CLIENTS,
  patchApiKeyBody,
  type PatchApiKeyBody,
} from './schema.ts';
import { createApiKey } from './create.ts';
import {
  listApiKeys,
  lockApiKey,
  revokeApiKey,
  updateApiKey,
  type ApiKeyRef,
  type ApiKeyRow,
} from './queries.ts';
import type { Platform } from '../../platform/platform.ts';

interface Deps extends Pick<Platform, 'clock' | 'postgres'> {
  notifications: Notifications;
  auth: Authenticators;
  credentials_keys: EncryptionKeys;
  service_env: ApiKeyEnvironment;
}

const whoAmI = z.object({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  environment: z.enum(API_KEY_ENVIRONMENTS),
});
nameSchemas({ WhoAmI: whoAmI });

const session = { mode: 'session', role: 'admin', scope: 'tenant' } as const;

/** API keys, and `GET /v1/me`, which checks one (spec part 4, "API keys and identity"). */
export function apiKeyEndpoints(deps: Deps): AnyEndpoint[] {
  const projectOf: ProjectOf = async ({ tenant_id }, params) => {
    const project_id = await deps.auth.projects.ofTenant(tenant_id, params['projectId'] ?? '');
    return { tenant_id, project_id };
  };
  return [
    ...keysEndpoints(deps, projectOf),
    ...keyEndpoints(deps, projectOf),
    endpoint({
      method: 'GET',
      path: '/v1/me',
      summary: 'Describes the API key of the caller',
      access: { mode: 'api_key', rate: 'none' },
      response: whoAmI,
      handle: ({ caller: { tenant_id, project_id, environment } }) =>
        envelope({ tenant_id, project_id, environment }),
    }),
  ];
}

/** The project of a path; PROJECT_NOT_FOUND when the tenant has none of this id. */
type ProjectOf = (caller: SessionPrincipal, params: Readonly<Record<string, string>>) => Promise<ProjectRef>;

/** The keys of a project. */
function keysEndpoints(deps: Deps, projectOf: ProjectOf): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/projects/:projectId/api-keys',
      summary: 'Lists the API keys of a project, the newest first; status=revoked lists revoked keys',
      access: session,
      query: listApiKeysQuery,
      response: z.array(listedApiKey),
      shape: 'list',
      errors: ['PROJECT_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const project = await projectOf(caller, params);
        return listOf(deps.postgres, project, query, {
          kind: 'api-keys',
          select: (tx, after, limit, { status }) =>
            listApiKeys(tx, project, status === 'revoked', after, limit),
          positionOf: (row) => [row.created_us, row.key_id],
          show: listedApiKeyOf,
        });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/projects/:projectId/api-keys',
      summary: 'Creates an API key; only this response shows it',
      audit: { resource: 'api_key', action: 'create' },
      access: session,
      body: createApiKeyBody,
      status: 201,
      response: createdApiKey,
      errors: ['PROJECT_NOT_FOUND'],
      handle: async ({ caller, params, body, audit }) => {
        const request = { ...(await projectOf(caller, params)), environment: deps.service_env, ...body };
        requireFuture(deps.clock, body.expires_at);
        return envelope(await createApiKey({ ...deps, audit }, request));
      },
    }),
  ];
}

/** One key. */
function keyEndpoints(deps: Deps, projectOf: ProjectOf): AnyEndpoint[] {
  return [
    endpoint({
      method: 'PATCH',
      path: '/v1/projects/:projectId/api-keys/:id',
      summary: 'Changes name, allowed origins and end of an API key',
      audit: { resource: 'api_key', action: 'update' },
      access: session,
      body: patchApiKeyBody,
      response: listedApiKey,
      errors: ['PROJECT_NOT_FOUND', 'API_KEY_NOT_FOUND'],
      handle: async ({ caller, params, body, audit }) => {
        const project = await projectOf(caller, params);
        return envelope(await changeKey({ ...deps, audit }, project, params['id'] ?? '', body));
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/projects/:projectId/api-keys/:id',
      summary: 'Revokes an API key; new requests with it fail from now on',
      audit: { resource: 'api_key', action: 'revoke' },
      access: session,
      response: deletedApiKey,
      errors: ['PROJECT_NOT_FOUND', 'API_KEY_NOT_FOUND'],
      handle: async ({ caller, params, audit }) => {
        const project = await projectOf(caller, params);
        return envelope(await revokeKey({ ...deps, audit }, project, params['id'] ?? ''));
      },
    }),
  ];
}

/** Throws VALIDATION_ERROR when the end of a key has passed: a key that must stop now is revoked. */
function requireFuture(clock: Clock, expires_at: string | null | undefined): void {
  if (typeof expires_at !== 'string' || Date.parse(expires_at) > clock.now_ms()) return;
  throw validationError([
    { path: 'expires_at', message: 'must be in the future; revoke a key to end it now' },
  ]);
}

async function changeKey(
  { clock, ...deps }: Deps & Auditing,
  project: ProjectRef,
  key_id: string,
  { name, allowed_origins, expires_at }: PatchApiKeyBody,
): Promise<z.infer<typeof listedApiKey>> {
  requireFuture(clock, expires_at);
  const changed = await change(deps, { ...project, key_id }, async (tx, before) => {
    if (before.deleted_at !== null) return undefined;
    const settings = {
      name: name ?? before.name,
      allowed_origins: allowed_origins ?? before.allowed_origins,
      expires_at: endOf(expires_at, before.expires_at),
    };
    if (before.kind === 'server' && settings.allowed_origins.length > 0)
      throw validationError([{ path: 'allowed_origins', message: ONLY_OF_CLIENTS }]);
    return updateApiKey(tx, { ...project, key_id }, settings);
  });
  return listedApiKeyOf(changed);
}

/** The end that a change results in: absent keeps it, null removes it. */
function endOf(given: string | null | undefined, present: Date | null): Date | null {
  if (given === undefined) return present;
  return given === null ? null : new Date(given);
}

async function revokeKey(
  { clock, ...deps }: Deps & Auditing,
  project: ProjectRef,
  key_id: string,
): Promise<z.infer<typeof deletedApiKey>> {
  const now = new Date(clock.now_ms());
  const ref = { ...project, key_id };
  const revoked = await change(deps, ref, (tx) => revokeApiKey(tx, ref, now));
  return { ...publicFieldsOf(revoked), deleted_at: revoked.deleted_at.toISOString() };
}

/**
 * Changes a locked key by `write`, with its audit row, and announces it to all processes. Rejects with API_KEY_NOT_FOUND when
 * the project has no such key, or `write` has changed none.
 */
async function change<Row extends ApiKeyRow>(
  { postgres, notifications, auth, audit }: Omit<Deps, 'clock'> & Auditing,
  ref: ApiKeyRef,
  write: (tx: Tx, before: ApiKeyRow) => Promise<Row | undefined>,
): Promise<Row> {
  const { tenant_id, project_id, key_id } = ref;
  const changed = await postgres.asTenant(tenant_id, async (tx) => {
    const before = isUuid(key_id) ? await lockApiKey(tx, ref) : undefined;
    const row = before && (await write(tx, before));
    if (before === undefined || row === undefined) return undefined;
    const sides = { before: listedApiKeyOf(before), after: listedApiKeyOf(row) };
    await Promise.all([
      notifications.notify(tx, API_KEYS_CHANNEL, row.public_id),
      audit(tx, { tenant_id, project_id, resource_id: row.key_id, ...sides }),
    ]);
    return row;
  });
  if (changed === undefined)
    throw new ApiError('API_KEY_NOT_FOUND', `API key ${key_id.slice(0, 64)} does not exist`);
  auth.api_keys.evict(changed.public_id);
  return changed;
}
