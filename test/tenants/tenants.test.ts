import { execFile } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiKeys, openAuthenticators } from '../../src/http/auth/authenticators.ts';
import { createAuditWriter } from '../../src/tenants/audit/write.ts';
import { firstCallAcceptance } from '../../src/tenants/members/invitations.ts';
import { packageRoot } from '../../src/package-root.ts';
import type { Answer } from '../engines/http-client.ts';
import { INTERNAL_SECRET, openFixture, type Fixture } from '../http/api-fixture.ts';

const run = promisify(execFile);
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const brief = ({ status, body }: Answer) => [status, body.error?.code];
const tenantBody = { name: 'Op', base_currency: 'GBP', project_name: 'Casino', admin_user_id: 'boss' };

describe('provisioning', () => {
  test('a new tenant has a project, an owner and the currency catalogue', async () => {
    const made = await fixture.internal('/v1/internal/tenants', tenantBody);
    expect(made.status).toBe(201);
    const { tenant_id, project_id } = made.body.data as { tenant_id: string; project_id: string };
    const { service } = fixture.platform.postgres;
    const currencies = await service`
      select code, kind, scale, is_active from currencies where tenant_id = ${tenant_id} order by code`;
    const scales = Object.fromEntries(currencies.map(({ code, scale }) => [String(code), Number(scale)]));
    expect(scales).toMatchObject({
      ...Object.fromEntries('EUR USD GBP SEK NOK DKK CHF CAD AUD BRL'.split(' ').map((code) => [code, 2])),
      JPY: 0,
      KWD: 3,
      BTC: 8,
      ETH: 18,
      USDT: 6,
      USDC: 6,
      LTC: 8,
    });
    expect(currencies.filter(({ is_active }) => is_active !== true).slice(0, 20)).toEqual([]);
    const members = await service`select user_id, role from memberships where tenant_id = ${tenant_id}`;
    expect(members).toEqual([{ user_id: 'boss', role: 'owner' }]);
    const session = await fixture.internal('/v1/internal/dev-sessions', { user_id: 'boss' });
    const key = await fixture.as(
      String(session.body.data['session_token']),
      `/v1/projects/${project_id}/api-keys`,
      {
        method: 'POST',
        body: { name: 'k' },
      },
    );
    expect(key.status).toBe(201);
  });

  test('the base currency must be in the catalogue and have at most 8 decimal places', async () => {
    for (const base_currency of ['ETH', 'XXX', 'eur', '']) {
      const answer = await fixture.internal('/v1/internal/tenants', { ...tenantBody, base_currency });
      expect(brief(answer), base_currency).toEqual([422, 'VALIDATION_ERROR']);
    }
    expect(
      (await fixture.internal('/v1/internal/tenants', { ...tenantBody, base_currency: 'BTC' })).status,
    ).toBe(201);
    expect(brief(await fixture.internal('/v1/internal/tenants', { ...tenantBody, more: 1 }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
  });

  test('projects and members of an unknown tenant are TENANT_NOT_FOUND', async () => {
    const project = { tenant_id: UNKNOWN, name: 'P' };
    expect(brief(await fixture.internal('/v1/internal/projects', project))).toEqual([
      404,
      'TENANT_NOT_FOUND',
    ]);
    const member = { tenant_id: UNKNOWN, user_id: 'u', role: 'viewer' };
    expect(brief(await fixture.internal('/v1/internal/memberships', member))).toEqual([
      404,
      'TENANT_NOT_FOUND',
    ]);
    const badRole = await fixture.internal('/v1/internal/memberships', { ...member, role: 'king' });
    expect(brief(badRole)).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('only the file’s owner can read the development key', async () => {
    const { mode } = await stat(join(fixture.config.data_dir, 'dev-issuer-key.json'));
    expect(mode & 0o777).toBe(0o600);
  });
});

describe('removing a membership', () => {
  const remove = (tenant_id: string, user_id: string) => {
    const query = new URLSearchParams({ tenant_id, user_id }).toString();
    const headers = { 'x-internal-secret': INTERNAL_SECRET };
    return fixture.call(`/v1/internal/memberships?${query}`, { method: 'DELETE', headers });
  };
  const join = async (tenant_id: string, user_id: string, role: string) => {
    const member = { tenant_id, user_id, role };
    expect((await fixture.internal('/v1/internal/memberships', member)).status).toBe(201);
    const session = await fixture.internal('/v1/internal/dev-sessions', { user_id });
    return String(session.body.data['session_token']);
  };
  const owners = async (tenant_id: string) => {
    const rows = await fixture.platform.postgres.service<{ user_id: string }[]>`
      select user_id from memberships where tenant_id = ${tenant_id} and role = 'owner'`;
    return rows.map(({ user_id }) => user_id);
  };

  test('applies at once in every process, to this tenant only, and can be repeated', async () => {
    const [here, there] = [await fixture.makeTenant(), await fixture.makeTenant()];
    const user_id = 'idp|a/b ü&?';
    await join(there.tenant_id, user_id, 'viewer');
    const session = await join(here.tenant_id, user_id, 'admin');
    const of = (tenant_id: string) => ({ headers: { 'x-tenant-id': tenant_id } });
    const { config, platform, deps } = fixture;
    // In that process time stands still, so that no entry of its cache expires by itself.
    const now_ms = platform.clock.now_ms();
    const shared = {
      config,
      clock: { ...platform.clock, now_ms: () => now_ms },
      logger: platform.logger,
      metrics: platform.metrics,
      rateLimiter: platform.rateLimiter,
      sql: platform.postgres.service,
      notifications: deps.notifications,
    };
    const api_keys = await openApiKeys(shared);
    const { sessions } = await openAuthenticators({
      ...shared,
      api_keys,
      internal_secret: INTERNAL_SECRET,
      acceptOnly: firstCallAcceptance(platform, createAuditWriter(platform.clock)),
    });
    const elsewhere = async (tenant_id: string) => {
      try {
        return (
          await sessions.authenticate(
            { id: 'request', method: 'GET', headers: { authorization: `Bearer ${session}` } },
            tenant_id,
          )
        ).role;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect((await fixture.as(session, '/v1/players', of(here.tenant_id))).status).toBe(200);
    expect(await elsewhere(here.tenant_id)).toBe('admin');

    const removed = await remove(here.tenant_id, user_id);
    expect([removed.status, removed.body.data]).toEqual([
      200,
      { tenant_id: here.tenant_id, user_id, removed: true },
    ]);
    expect((await fixture.as(session, '/v1/players', of(here.tenant_id))).status).toBe(403);
    expect((await fixture.as(session, '/v1/players', of(there.tenant_id))).status).toBe(200);
    await expect.poll(() => elsewhere(here.tenant_id), { interval: 10 }).toBe('FORBIDDEN');
    expect(await elsewhere(there.tenant_id)).toBe('viewer');
    const again = await remove(here.tenant_id, user_id);
    expect([again.status, again.body.data['removed']]).toEqual([200, false]);
  });

  test('is refused for the last owner, even when two owners are removed at once', async () => {
    const { tenant_id } = await fixture.makeTenant();
    const [first = ''] = await owners(tenant_id);
    const refused = await remove(tenant_id, first);
    expect(brief(refused)).toEqual([409, 'CONFLICT']);
    expect(refused.body.error.message).toContain('make another member an owner first');
    for (let round = 0; round < 10; round++) {
      const [one = ''] = await owners(tenant_id);
      const other = `owner-${round}`;
      await join(tenant_id, other, 'owner');
      const answers = await Promise.all([remove(tenant_id, other), remove(tenant_id, one)]);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
      expect(await owners(tenant_id)).toHaveLength(1);
    }
    await join(tenant_id, 'helper', 'admin');
    expect((await remove(tenant_id, 'helper')).status).toBe(200);
  });

  test('needs an existing tenant and a user', async () => {
    expect(brief(await remove(UNKNOWN, 'u'))).toEqual([404, 'TENANT_NOT_FOUND']);
    expect(brief(await remove('x', 'u'))).toEqual([422, 'VALIDATION_ERROR']);
    expect(brief(await remove(UNKNOWN, ''))).toEqual([422, 'VALIDATION_ERROR']);
  });
});

describe('npm run provision', () => {
  let base_url: string;
  beforeAll(async () => {
    base_url = await fixture.app.listen({ host: '127.0.0.1', port: 0 });
  });

  const provision = async (...args: string[]): Promise<Record<string, string>> => {
    const script = join(packageRoot, 'dist', 'scripts', 'provision.js');
    const env = { DATA_DIR: fixture.config.data_dir };
    const { stdout } = await run(process.execPath, [script, ...args], { env });
    return JSON.parse(stdout) as Record<string, string>;
  };

  test('creates everything, with flags or with the stored credentials', async () => {
    const flags = ['--base-url', base_url, '--internal-secret', INTERNAL_SECRET];
    const tenant = ['--name', 'N', '--base-currency', 'EUR', '--project-name', 'P', '--admin-user-id', 'cli'];
    const { tenant_id = '', project_id = '' } = await provision('tenant', ...tenant, ...flags);
    const { session_token = '' } = await provision('session', '--user-id', 'cli', ...flags);
    const user_id = 'cli';
    const kept = { base_url, internal_secret: INTERNAL_SECRET, session_token, project_id, user_id };
    await writeFile(join(fixture.config.data_dir, 'dev-credentials.json'), JSON.stringify(kept));
    const { key = '' } = await provision('key', '--name', 'from the shell');
    expect((await fixture.as(key, '/v1/me')).body.data).toMatchObject({ tenant_id, project_id });
    expect(Object.keys(await provision('project', '--tenant-id', tenant_id, '--name', 'Q'))).toEqual([
      'project_id',
    ]);
    const member = ['--tenant-id', tenant_id, '--user-id', 'cli', '--role', 'viewer'];
    expect(await provision('membership', ...member)).toMatchObject({ role: 'viewer' });
    const helper = ['--tenant-id', tenant_id, '--user-id', 'a|helper'];
    await provision('membership', ...helper, '--role', 'editor');
    expect(await provision('remove-membership', ...helper)).toMatchObject({ removed: true });
    const again = await provision('session');
    expect((await fixture.as(again['session_token'] ?? '', '/v1/players')).status).toBe(200);
  });

  test('reports errors', async () => {
    await expect(provision('castle')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unknown: castle/) as string,
    });
    await expect(provision('project', '--name', 'x')).rejects.toMatchObject({ code: 2 });
    const project = ['project', '--tenant-id', UNKNOWN, '--name', 'x'];
    await expect(provision(...project)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/TENANT_NOT_FOUND/) as string,
    });
  });
});
