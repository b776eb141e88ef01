import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture?.close());

const as = (path: string, method = 'GET') => fixture.as(tenant.session, path, { method });
const create = async () =>
  (await as('/v1/webhook-secrets', 'POST')).body.data as { id: string; secret: string };

describe('webhook secrets', () => {
  it('are shown once, listed without their text, and erased when they are deleted', async () => {
    tenant = await fixture.makeTenant();
    const made = await as('/v1/webhook-secrets', 'POST');
    expect(made.status, made.text).toBe(201);
    const first = made.body.data as { id: string; secret: string };
    expect(Object.keys(first).sort()).toEqual(['created_at', 'id', 'secret']);
    expect(first.secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const second = await create();
    expect(second.secret).not.toBe(first.secret);
    const listed = await as('/v1/webhook-secrets');
    expect((listed.body.data as unknown as { id: string }[]).map(({ id }) => id)).toEqual([
      second.id,
      first.id,
    ]);
    for (const { secret } of [first, second]) expect(listed.text).not.toContain(secret);
    const [row] = await fixture.platform.postgres.service<{ secret: Buffer }[]>`
      select secret from webhook_secrets where secret_id = ${first.id}`;
    expect(row?.secret.toString('latin1')).not.toContain(first.secret);
    const log = await as('/v1/audit-log?resource_type=webhook_secret');
    expect((log.body.data as unknown as { action: string }[]).map(({ action }) => action)).toEqual([
      'create',
      'create',
    ]);
    expect(log.text).not.toContain(first.secret);

    const gone = await as(`/v1/webhook-secrets/${first.id}`, 'DELETE');
    expect(gone.status).toBe(200);
    expect(await as(`/v1/webhook-secrets/${first.id}`, 'DELETE')).toMatchObject({
      status: 200,
      body: gone.body,
    });
    expect(
      ((await as('/v1/webhook-secrets')).body.data as unknown as { id: string }[]).map(({ id }) => id),
    ).toEqual([second.id]);
    const [erased] = await fixture.platform.postgres.service<{ secret: Buffer | null }[]>`
      select secret from webhook_secrets where secret_id = ${first.id}`;
    expect(erased?.secret).toBeNull();
    expect((await as(`/v1/webhook-secrets/${tenant.project_id}`, 'DELETE')).status).toBe(404);
  });

  it('are ten at most in a project, whoever asks at the same time', async () => {
    tenant = await fixture.makeTenant();
    const answers = await Promise.all(Array.from({ length: 14 }, () => as('/v1/webhook-secrets', 'POST')));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ body }) => body.error?.code)).toEqual(Array(4).fill('CONFLICT'));
  });
});
