import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openApiKeys, openAuthenticators, type Authenticators } from '../../src/http/auth/authenticators.ts';
import { readConfig, type Config } from '../../src/config.ts';
import { buildApiApp, type ApiDeps } from '../../src/app/api-app.ts';
import { openPlatforms } from '../../src/adapters/platforms.ts';
import { loadLinkKey } from '../../src/engage/messaging/link-key.ts';
import { loadCredentialsKeys } from '../../src/engage/providers/credentials.ts';
import { loadErasureKey } from '../../src/protection/exclusions/erasure-key.ts';
import { Readiness } from '../../src/http/readiness.ts';
import { openNotifications } from '../../src/platform/postgres/notifications.ts';
import { createAuditWriter } from '../../src/tenants/audit/write.ts';
import { firstCallAcceptance } from '../../src/tenants/members/invitations.ts';
import { openTenantCapabilities } from '../../src/tenants/config/capability-cache.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { callApp, type Answer, type Call } from '../engines/http-client.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { openTestPlatform, type PlatformOptions } from '../engines/wiring.ts';

export const INTERNAL_SECRET = 'internal-secret-of-the-tests-0123456789';

export interface Tenant {
  tenant_id: string;
  project_id: string;
  /** A session of the owner. */
  session: string;
  api_key: string;
}

/** The API host on its own engines, called without a socket. */
export interface Fixture {
  app: FastifyInstance;
  platform: Platform;
  auth: Authenticators;
  config: Config;
  deps: ApiDeps;
  call(path: string, request?: Call): Promise<Answer>;
  /** Calls with a bearer token: a session or an API key. */
  as(token: string, path: string, request?: Call): Promise<Answer>;
  internal(path: string, body: unknown): Promise<Answer>;
  makeTenant(): Promise<Tenant>;
  /** Creates a member of the tenant; returns the session. */
  member(tenant_id: string, role: string): Promise<string>;
  close(): Promise<void>;
}

let users = 0;

export async function openFixture(
  environment: Record<string, string> = {},
  options: PlatformOptions = {},
): Promise<Fixture> {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-http-'));
  const own = { DATA_DIR: data_dir, LOG_LEVEL: 'silent', INTERNAL_SECRET, ...NO_PROVIDERS };
  const config = readConfig({ ...own, ...environment });
  let app: FastifyInstance | undefined;
  let platform: Platform | undefined;
  const close = async () => {
    try {
      await app?.close();
    } finally {
      try {
        await platform?.close();
      } finally {
        await rm(data_dir, { recursive: true, force: true });
      }
    }
  };
  try {
    platform = await openTestPlatform(config, options);
    const { auth, deps } = await openDeps(platform, config);
    app = buildApiApp(platform, config, deps);
    return { app, platform, auth, config, deps, ...callsOf(app, auth), close };
  } catch (error) {
    // An embedded platform that stayed open would fail every later file of this process.
    await close();
    throw error;
  }
}

async function openDeps(
  platform: Platform,
  config: Config,
): Promise<{ auth: Authenticators; deps: ApiDeps }> {
  const { clock, logger, metrics, postgres, rateLimiter } = platform;
  const sql = postgres.service;
  const notifications = openNotifications(sql, logger);
  const shared = { config, clock, logger, metrics, rateLimiter, sql, notifications };
  const credentials_keys = await loadCredentialsKeys(config);
  const api_keys = await openApiKeys({ ...shared, credentials_keys });
  const auth = await openAuthenticators({
    ...shared,
    api_keys,
    internal_secret: INTERNAL_SECRET,
    acceptOnly: firstCallAcceptance(platform, createAuditWriter(clock)),
  });
  const capabilities = await openTenantCapabilities(shared);
  const link_key = await loadLinkKey(sql, credentials_keys, logger);
  const readiness = new Readiness(platform, config.roles);
  readiness.started();
  const platforms = await openPlatforms({ ...platform, credentials_keys }, notifications);
  const erasure_key = await loadErasureKey(config);
  const secrets = { credentials_keys, link_key, erasure_key };
  const deps = { auth, notifications, capabilities, ...secrets, readiness, platforms };
  return { auth, deps };
}

type Calls = Pick<Fixture, 'call' | 'as' | 'internal' | 'makeTenant' | 'member'>;

function callsOf(app: FastifyInstance, auth: Authenticators): Calls {
  const call: Fixture['call'] = (path, request) => callApp(app, path, undefined, request);
  const as: Fixture['as'] = (token, path, request = {}) => callApp(app, path, token, request);
  const internal: Fixture['internal'] = (path, body) =>
    call(path, { method: 'POST', body, headers: { 'x-internal-secret': INTERNAL_SECRET } });
  const session = async (user_id: string) => {
    const { body } = await internal('/v1/internal/dev-sessions', { user_id });
    return String(body.data['session_token']);
  };
  return {
    call,
    as,
    internal,
    async makeTenant() {
      const admin_user_id = `user-${++users}`;
      const request = { name: 'Casino', base_currency: 'EUR', project_name: 'Main', admin_user_id };
      const { body } = await internal('/v1/internal/tenants', request);
      const { tenant_id, project_id } = body.data as { tenant_id: string; project_id: string };
      const token = auth.dev_issuer === undefined ? '' : await session(admin_user_id);
      const key = await as(token, `/v1/projects/${project_id}/api-keys`, {
        method: 'POST',
        body: { name: 'k' },
      });
      return { tenant_id, project_id, session: token, api_key: String(key.body.data?.['key']) };
    },
    async member(tenant_id, role) {
      const user_id = `user-${++users}`;
      await internal('/v1/internal/memberships', { tenant_id, user_id, role });
      return session(user_id);
    },
  };
}
