import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApiApp } from '../../../src/app/api-app.ts';
import { openAuthenticators } from '../../../src/http/auth/authenticators.ts';
import { createAuditWriter } from '../../../src/tenants/audit/write.ts';
import { firstCallAcceptance } from '../../../src/tenants/members/invitations.ts';
import { readConfig } from '../../../src/config.ts';
import { loadLinkKey } from '../../../src/engage/messaging/link-key.ts';
import { unsubscribeHeaders } from '../../../src/engage/messaging/unsubscribe-link.ts';
import {
  loadCredentialsKeys,
  encryptSecrets,
  decryptSecrets,
} from '../../../src/engage/providers/credentials.ts';
import { selectSigningSecrets } from '../../../src/engage/webhooks/secret-queries.ts';
import { readSecret } from '../../../src/engage/webhooks/secrets.ts';
import { openHeaders, type SealedValue } from '../../../src/engage/journeys/graph/webhook-headers.ts';
import { textArray } from '../../../src/platform/postgres/arrays.ts';
import { encryptionKeyId } from '../../../src/platform/encryption.ts';
import { INTERNAL_SECRET, openFixture, type Fixture, type Tenant } from '../../http/api-fixture.ts';

const [OLD, NEW, LOST] = ['aa'.repeat(32), 'bb'.repeat(32), 'cc'.repeat(32)] as const;
const NEXT_SECRET = 'the-next-internal-secret-0123456789abcdef';
const alone = (current: string) => ({ current, previous: undefined });

let fixture: Fixture;
let tenant: Tenant;
let sendgrid: Server;
/** The Authorization headers of the requests to the provider. */
const given: (string | undefined)[] = [];
const apps: FastifyInstance[] = [];

beforeAll(async () => {
  fixture = await openFixture({ CREDENTIALS_KEY: OLD });
  tenant = await fixture.makeTenant();
  sendgrid = createServer((request, response) => {
    given.push(request.headers.authorization);
    response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => sendgrid.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const app of apps) await app.close();
  await fixture?.close();
  await new Promise((resolve) => sendgrid.close(resolve));
});

/** Restarts the API host with these variables on the same databases. */
async function restart(environment: Record<string, string>): Promise<FastifyInstance> {
  const { platform, deps } = fixture;
  const { data_dir } = fixture.config;
  const config = readConfig({ DATA_DIR: data_dir, LOG_LEVEL: 'silent', INTERNAL_SECRET, ...environment });
  const credentials_keys = await loadCredentialsKeys(config);
  const sql = platform.postgres.service;
  const link_key = await loadLinkKey(sql, credentials_keys, platform.logger);
  const auth = await openAuthenticators({
    config,
    clock: platform.clock,
    sql,
    notifications: deps.notifications,
    api_keys: deps.auth.api_keys,
    internal_secret: config.internal_secret ?? '',
    acceptOnly: firstCallAcceptance(platform, createAuditWriter(platform.clock)),
  });
  const app = buildApiApp(platform, config, { ...deps, auth, credentials_keys, link_key });
  apps.push(app);
  return app;
}

async function internal(app: FastifyInstance, path: string, secret = INTERNAL_SECRET) {
  const headers = { 'x-internal-secret': secret, 'content-type': 'application/json' };
  const response = await app.inject({ method: 'POST', url: path, headers, payload: '{}' });
  return { status: response.statusCode, data: (JSON.parse(response.body) as { data?: unknown }).data };
}

async function post(app: FastifyInstance, path: string, body: object) {
  const headers = { authorization: `Bearer ${tenant.session}`, 'content-type': 'application/json' };
  const response = await app.inject({ method: 'POST', url: path, headers, payload: JSON.stringify(body) });
  return { status: response.statusCode, data: (JSON.parse(response.body) as { data?: unknown }).data };
}

async function newProvider(api_key: string): Promise<string> {
  const base_url = `http://127.0.0.1:${(sendgrid.address() as AddressInfo).port}`;
  const config = { api_key, from: 'hi@casino.example', base_url };
  const made = await post(fixture.app, '/v1/messaging-providers', {
    name: api_key,
    kind: 'sendgrid',
    channel: 'email',
    config,
  });
  return (made.data as { id: string }).id;
}

async function store(provider_id: string, credentials: Buffer): Promise<void> {
  await fixture.platform.postgres.service`
    update messaging_providers set credentials = ${credentials} where provider_id = ${provider_id}`;
}

async function storedCredentials(provider_id: string): Promise<Buffer> {
  const [row] = await fixture.platform.postgres.service<{ credentials: Buffer }[]>`
    select credentials from messaging_providers where provider_id = ${provider_id}`;
  return row?.credentials ?? Buffer.of();
}

it('credentials and links stay valid through a rotation of the encryption key', async () => {
  const one = await newProvider('SG.one');
  const another = await newProvider('SG.another');
  const lost = await newProvider('SG.lost');
  const ownerOf = (provider_id: string) => ({ tenant_id: tenant.tenant_id, provider_id });
  await store(lost, encryptSecrets(alone(LOST), ownerOf(lost), { api_key: 'SG.lost' }));
  const template = { name: 't', channel: 'email', subject: 's', body: 'b', status: 'active' };
  const made = await post(fixture.app, '/v1/templates', template);
  const path = `/v1/templates/${(made.data as { id: string }).id}/send-test`;
  const who = {
    ...tenant,
    player_id: tenant.project_id,
    channel: 'email',
    address: 'ann@example.com',
  } as const;
  const link = unsubscribeHeaders(fixture.deps.link_key, '', who).url;
  const webhook_secret = (await post(fixture.app, '/v1/webhook-secrets', {})).data as {
    id: string;
    secret: string;
  };
  const journey_id = await calledJourney();
  const works = async (app: FastifyInstance) => {
    given.length = 0;
    for (const provider_id of [one, another]) {
      const sent = await post(app, path, { recipient: 'ann@example.com', provider_id });
      expect(sent.data).toMatchObject({ status: 'sent' });
    }
    expect(given).toEqual(['Bearer SG.one', 'Bearer SG.another']);
    expect((await app.inject({ url: link })).statusCode).toBe(200);
  };
  await works(await restart({ CREDENTIALS_KEY: OLD }));
  // Every process can decrypt with the new key before any process encrypts with it.
  await works(await restart({ CREDENTIALS_KEY: OLD, CREDENTIALS_KEY_PREVIOUS: NEW }));
  const both = await restart({ CREDENTIALS_KEY: NEW, CREDENTIALS_KEY_PREVIOUS: OLD });
  await works(both);

  const unreadable = { unreadable: 1, unreadable_provider_ids: [lost] };
  expect(await internal(both, '/v1/internal/reencrypt-credentials')).toEqual({
    status: 200,
    // The credentials of two providers, the key of the links, a webhook secret, a journey and its version.
    data: { reencrypted: 6, ...unreadable },
  });
  expect((await internal(both, '/v1/internal/reencrypt-credentials')).data).toEqual({
    reencrypted: 0,
    ...unreadable,
  });
  await works(await restart({ CREDENTIALS_KEY: NEW }));
  const [signing] = await selectSigningSecrets(fixture.platform.postgres.service, [tenant]);
  if (signing === undefined) throw new Error('no webhook secret');
  expect(readSecret(alone(NEW), signing, signing.secret)).toBe(webhook_secret.secret);
  expect(() => readSecret(alone(OLD), signing, signing.secret)).toThrow(encryptionKeyId(NEW));
  for (const { url, headers } of await calledNodes(journey_id)) {
    expect(openHeaders(alone(NEW), tenant, { url, headers })).toEqual({ 'X-Crm': 'crm-key' });
    expect(() => openHeaders(alone(OLD), tenant, { url, headers })).toThrow(encryptionKeyId(NEW));
  }
  // What was saved is still what is live.
  const shown = await fixture.as(tenant.session, `/v1/journeys/${journey_id}`);
  expect(shown.body.data).toMatchObject({ version: 1, draft_version: null });
});

/** An active journey that calls a webhook with a header. */
async function calledJourney(): Promise<string> {
  const node = {
    id: 'call',
    type: 'call_webhook',
    url: 'https://example.com/x',
    headers: { 'X-Crm': 'crm-key' },
  };
  const nodes = [
    { ...node, next: 'end' },
    { id: 'end', type: 'end' },
  ];
  const body = { name: 'j', trigger: { kind: 'api' }, graph: { start_node_id: 'call', nodes } };
  const { id } = (await post(fixture.app, '/v1/journeys', body)).data as { id: string };
  expect((await post(fixture.app, `/v1/journeys/${id}/activate`, {})).status).toBe(200);
  return id;
}

/** The node of the journey as it is stored: in what was saved last, and in its version. */
async function calledNodes(journey_id: string) {
  type Node = { url: string; headers: Record<string, SealedValue> };
  const rows = await fixture.platform.postgres.service<{ graph: { nodes: [Node] } }[]>`
    select graph from journeys where journey_id = ${journey_id}
    union all select graph from journey_versions where journey_id = ${journey_id}`;
  expect(rows).toHaveLength(2);
  return rows.map(({ graph }) => graph.nodes[0]);
}

it('a provider whose credentials no key decrypts takes new ones, and asks for them', async () => {
  const id = await newProvider('SG.before');
  const path = `/v1/messaging-providers/${id}`;
  await store(id, encryptSecrets(alone(LOST), { ...tenant, provider_id: id }, { api_key: 'SG.gone' }));
  const patch = (body: object) => fixture.as(tenant.session, path, { method: 'PATCH', body });
  const incomplete = await patch({ config: { from: 'new@casino.example' } });
  expect([incomplete.status, incomplete.body.error?.code], incomplete.text).toEqual([
    422,
    'VALIDATION_ERROR',
  ]);
  expect(incomplete.body.error.details['issues']).toMatchObject([{ path: 'config.api_key' }]);
  expect((await patch({ name: 'renamed' })).status).toBe(200);
  expect((await patch({ config: { api_key: 'SG.again' } })).status).toBe(200);
  const credentials = await storedCredentials(id);
  expect(decryptSecrets(alone(OLD), { ...tenant, provider_id: id }, credentials)).toEqual({
    api_key: 'SG.again',
  });
});

it('a test message whose provider has unreadable credentials leaves no audit row', async () => {
  const provider_id = await newProvider('SG.unread');
  await store(provider_id, encryptSecrets(alone(LOST), { ...tenant, provider_id }, { api_key: 'SG.gone' }));
  const template = { name: 't', channel: 'email', subject: 's', body: 'b', status: 'active' };
  const { id } = (await post(fixture.app, '/v1/templates', template)).data as { id: string };
  const path = `/v1/templates/${id}/send-test`;
  const { status } = await post(fixture.app, path, { recipient: 'ann@example.com', provider_id });
  expect(status).toBe(500);
  const log = await fixture.as(tenant.session, `/v1/audit-log?resource_id=${id}`);
  expect(log.body.data).toMatchObject([{ action: 'create' }]);
});

it('an optional password that no key decrypts is not dropped silently', async () => {
  const config = { host: 'mail.example', port: 25, username: 'u', password: 'p', from: 'a@b.example' };
  const body = { name: 'mail', kind: 'smtp', channel: 'email', config };
  const id = ((await post(fixture.app, '/v1/messaging-providers', body)).data as { id: string }).id;
  const path = `/v1/messaging-providers/${id}`;
  await store(id, encryptSecrets(alone(LOST), { ...tenant, provider_id: id }, { password: 'gone' }));
  const patch = (changes: object) =>
    fixture.as(tenant.session, path, { method: 'PATCH', body: { config: changes } });
  const moved = await patch({ host: 'other.example' });
  expect(moved.status, moved.text).toBe(422);
  expect(moved.body.error.details['issues']).toMatchObject([{ path: 'config.password' }]);
  expect((await patch({ host: 'other.example', password: null })).status).toBe(200);
  // Without a secret there is nothing to give again.
  expect((await patch({ host: 'third.example' })).status).toBe(200);
});

describe('the key of unsubscribe links', () => {
  const logger = pino({ level: 'silent' });
  const forget = () => fixture.platform.postgres.service`delete from installation_secrets`;
  const load = (current: string, previous?: string) =>
    loadLinkKey(fixture.platform.postgres.service, { current, previous }, logger);

  it('is derived from the key that encrypted the credentials, whichever variable has it', async () => {
    await fixture.platform.postgres.service`update messaging_providers set credentials = null`;
    await newProvider('SG.any');
    await forget();
    const before = await load(OLD);
    for (const [current, previous] of [
      [OLD, NEW],
      [NEW, OLD],
    ] as const) {
      await forget();
      expect(await load(current, previous)).toEqual(before);
    }
    expect(await load(NEW, OLD)).toEqual(before);
  });

  it('is derived again only when no key decrypts it: a failed statement fails the start', async () => {
    await forget();
    const kept = await load(LOST);
    expect(await load(OLD)).not.toEqual(kept);
    expect(await load(LOST)).toEqual(kept);
    // The role of the API may not read the secrets of the installation.
    const outcome = fixture.platform.postgres
      .asTenant(tenant.tenant_id, async (tx) => {
        const error = await loadLinkKey(tx, alone(LOST), logger).then(() => undefined, String);
        throw new Error(`refused: ${error}`);
      })
      .catch(String);
    expect(await outcome).toContain('refused: PostgresError: permission denied');
    await forget();
  });
});

it('credentials whose key is not configured are reported with the id of that key', async () => {
  const owner = { tenant_id: tenant.tenant_id, provider_id: tenant.project_id };
  const encrypted = encryptSecrets(alone(LOST), owner, { password: 'hunter2' });
  const open = () => decryptSecrets({ current: NEW, previous: OLD }, owner, encrypted);
  for (const key of [LOST, NEW, OLD]) expect(open).toThrow(encryptionKeyId(key));
  expect(open).toThrow(owner.provider_id);
  expect(open).not.toThrow(/hunter2/);
});

it('more rows than fit one transaction are re-encrypted, also by two concurrent commands', async () => {
  const { service } = fixture.platform.postgres;
  const ids = Array.from({ length: 250 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);
  for (const provider_id of ids) {
    const credentials = encryptSecrets(
      alone(OLD),
      { tenant_id: tenant.tenant_id, provider_id },
      { api_key: provider_id },
    );
    await service`
      insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, credentials,
        created_at, updated_at)
      values (${tenant.tenant_id}, ${provider_id}, 'x', 'sendgrid', 'email', 'paused', '{}', ${credentials}, now(), now())`;
  }
  const both = await restart({ CREDENTIALS_KEY: NEW, CREDENTIALS_KEY_PREVIOUS: OLD });
  const answers = await Promise.all([1, 2].map(() => internal(both, '/v1/internal/reencrypt-credentials')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const rows = await service<{ provider_id: string; credentials: Buffer }[]>`
    select provider_id, credentials from messaging_providers where provider_id = any(${textArray(ids)}::text::uuid[])`;
  expect(rows).toHaveLength(250);
  for (const { provider_id, credentials } of rows) {
    const opened = decryptSecrets(alone(NEW), { tenant_id: tenant.tenant_id, provider_id }, credentials);
    expect(opened).toEqual({ api_key: provider_id });
  }
});

it('both internal secrets are accepted during a rotation', async () => {
  const path = '/v1/internal/reencrypt-credentials';
  const before = await restart({ INTERNAL_SECRET_PREVIOUS: NEXT_SECRET });
  const after = await restart({ INTERNAL_SECRET: NEXT_SECRET, INTERNAL_SECRET_PREVIOUS: INTERNAL_SECRET });
  for (const app of [before, after]) {
    for (const secret of [INTERNAL_SECRET, NEXT_SECRET]) {
      expect((await internal(app, path, secret)).status).toBe(200);
    }
    expect((await internal(app, path, `${NEXT_SECRET}x`)).status).toBe(401);
  }
  const done = await restart({ INTERNAL_SECRET: NEXT_SECRET });
  expect((await internal(done, path, INTERNAL_SECRET)).status).toBe(401);
});
