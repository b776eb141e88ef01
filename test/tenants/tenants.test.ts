import { execFile } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';
import { INTERNAL_SECRET, openFixture, type Answer, type Fixture } from '../http/api-fixture.ts';

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
  test('a tenant comes with a project, an owner and the currency catalogue', async () => {
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
    expect(currencies.every(({ is_active }) => is_active === true)).toBe(true);
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

  test('a base currency is one of the catalogue with at most 8 decimal places', async () => {
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

  test('the development key can be read by its owner only', async () => {
    const { mode } = await stat(join(fixture.config.data_dir, 'dev-issuer-key.json'));
    expect(mode & 0o777).toBe(0o600);
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

  test('makes everything, from flags or from the kept credentials', async () => {
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
    const again = await provision('session');
    expect((await fixture.as(again['session_token'] ?? '', '/v1/players')).status).toBe(200);
  });

  test('says what is wrong', async () => {
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
