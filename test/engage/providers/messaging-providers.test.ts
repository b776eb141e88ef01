import { generateKeyPairSync } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { loadCredentialsKeys, decryptSecrets } from '../../../src/engage/providers/credentials.ts';
import { CONFIG_OF, PROVIDER_KINDS } from '../../../src/engage/providers/kinds.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture?.close());

const PATH = '/v1/messaging-providers';
type Body = Record<string, unknown>;

function api(method: string, path: string, body?: Body, session = tenant.session): Promise<Answer> {
  return fixture.as(session, path, body === undefined ? { method } : { method, body });
}

async function make(body: Body): Promise<Body> {
  const { status, text, body: answer } = await api('POST', PATH, body);
  expect(status, text).toBe(201);
  return answer.data;
}

function issuePaths({ status, body, text }: Answer): string[] {
  expect([status, body.error.code], text).toEqual([422, 'VALIDATION_ERROR']);
  return (body.error.details['issues'] as { path: string }[]).map(({ path }) => path);
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const private_key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
const service_account = {
  type: 'service_account',
  project_id: 'casino-1',
  client_email: 'push@casino-1.iam.gserviceaccount.com',
  private_key,
};

/** For each kind the config that is shown, and the secrets that are not. */
const KINDS = [
  {
    kind: 'smtp',
    channel: 'email',
    shown: { host: 'mail.example.com', port: 587, username: 'user', from: 'Casino <hello@example.com>' },
    secrets: { password: 'smtp-password-1' },
  },
  {
    kind: 'sendgrid',
    channel: 'email',
    shown: { from: 'hello@example.com', webhook_public_key: 'MFkwEw', base_url: 'http://127.0.0.1:1' },
    secrets: { api_key: 'SG.very-secret' },
  },
  {
    kind: 'twilio',
    channel: 'sms',
    shown: { account_sid: 'AC0123', from: '+35621000000' },
    secrets: { auth_token: 'twilio-secret' },
  },
  { kind: 'fcm', channel: 'push', shown: {}, secrets: { service_account } },
  { kind: 'sandbox', channel: 'push', shown: {}, secrets: {} },
];

it('every kind of provider has a case, with all its secrets', () => {
  expect(KINDS.map(({ kind }) => kind)).toEqual([...PROVIDER_KINDS]);
  for (const { kind, shown, secrets } of KINDS) {
    const fields = Object.keys(CONFIG_OF[kind as keyof typeof CONFIG_OF].shape);
    const secret_like = fields.filter(
      (name) => /password|key|token|secret|account$/.test(name) && !/public/.test(name),
    );
    expect(Object.keys(secrets).sort(), kind).toEqual(secret_like.sort());
    for (const name of Object.keys(shown)) expect(fields, kind).toContain(name);
  }
});

describe.each(KINDS)('$kind', ({ kind, channel, shown, secrets }) => {
  it('never shows its secrets, and stores them encrypted', async () => {
    const made = await make({
      name: ' Mine ',
      kind,
      channel,
      config: { ...shown, ...secrets },
      rate_per_second: 5,
    });
    const { id, created_at, ...rest } = made;
    expect(rest).toEqual({
      tenant_id: tenant.tenant_id,
      name: 'Mine',
      kind,
      channel,
      status: 'active',
      config: shown,
      rate_per_second: 5,
      credentials_refused: null,
      updated_at: created_at,
      deleted_at: null,
    });
    const path = `${PATH}/${String(id)}`;
    const got = await api('GET', path);
    expect(got.body.data).toEqual(made);
    const listed = await api('GET', `${PATH}?kind=${kind}`);
    const changed = await api('PATCH', path, { name: 'Ours', config: {} });
    expect(changed.body.data).toMatchObject({ name: 'Ours', config: shown });
    const [row] = await fixture.platform.postgres.service<{ text: string; credentials: Buffer | null }[]>`
      select p::text as text, credentials from messaging_providers p where provider_id = ${String(id)}`;
    for (const secret of [...Object.values(secrets), private_key.slice(30, 60)]) {
      const text = typeof secret === 'string' ? secret : secret.private_key.slice(30, 60);
      for (const place of [got.text, listed.text, changed.text, row?.text]) expect(place).not.toContain(text);
      expect(row?.credentials?.includes(text) ?? false).toBe(false);
    }
    if (row?.credentials) {
      const owner = { tenant_id: tenant.tenant_id, provider_id: String(id) };
      const opened = decryptSecrets(fixture.deps.credentials_keys, owner, row.credentials);
      expect(opened).toMatchObject(secrets);
      const other = { current: '0'.repeat(64), previous: '1'.repeat(64) };
      const stranger = { ...owner, tenant_id: owner.provider_id };
      expect(() =>
        decryptSecrets(fixture.deps.credentials_keys, stranger, row.credentials ?? Buffer.of()),
      ).toThrow(/decrypted/);
      expect(() => decryptSecrets(other, owner, row.credentials ?? Buffer.of())).toThrow(/decrypted/);
    } else expect(secrets).toEqual({});
    const deleted = await api('DELETE', path);
    expect(deleted.status).toBe(200);
    expect(deleted.body.data['deleted_at']).not.toBeNull();
    expect((await api('DELETE', path)).body.data).toEqual(deleted.body.data);
    expect((await api('GET', path)).body.data).toEqual(deleted.body.data);
    expect((await api('PATCH', path, { name: 'x' })).body.error.code).toBe('PROVIDER_NOT_FOUND');
    expect((await api('GET', `${PATH}?kind=${kind}`)).text).not.toContain(String(id));
    const gone = await fixture.platform.postgres.service`
      select from messaging_providers where provider_id = ${String(id)} and credentials is null`;
    expect(gone).toHaveLength(1);
  });

  it('is refused with an incomplete config or with unknown fields', async () => {
    const config: Body = { ...shown, ...secrets };
    const post = (body: Body) => api('POST', PATH, { name: 'x', kind, channel, ...body });
    const optional = new Set(['password', 'username', 'webhook_public_key', 'base_url']);
    for (const name of Object.keys(config).filter((each) => !optional.has(each))) {
      const { [name]: _removed, ...rest } = config;
      expect(issuePaths(await post({ config: rest }))).toEqual([`config.${name}`]);
    }
    expect(issuePaths(await post({ config: { ...config, extra: 1 } }))).toEqual(['config.extra']);
    const wrong = KINDS.find((other) => other.channel !== channel)?.channel;
    if (kind !== 'sandbox') expect(issuePaths(await post({ config, channel: wrong }))).toEqual(['channel']);
  });
});

describe('a provider', () => {
  it('is a sandbox by default', async () => {
    expect(await make({ name: 'x', channel: 'sms' })).toMatchObject({
      kind: 'sandbox',
      config: {},
      channel: 'sms',
    });
  });

  it('keeps the config fields that a change does not name', async () => {
    const config = {
      host: 'a.example',
      port: 25,
      username: 'me',
      password: 'old-password',
      from: 'a@b.example',
    };
    const { id } = await make({ name: 'x', kind: 'smtp', channel: 'email', config });
    const path = `${PATH}/${String(id)}`;
    const secretsOf = async () => {
      const [row] = await fixture.platform.postgres.service<{ credentials: Buffer | null }[]>`
        select credentials from messaging_providers where provider_id = ${String(id)}`;
      const owner = { tenant_id: tenant.tenant_id, provider_id: String(id) };
      return row?.credentials ? decryptSecrets(fixture.deps.credentials_keys, owner, row.credentials) : null;
    };
    const renamed = await api('PATCH', path, { config: { username: 'you' } });
    const { password: _hidden, ...visible } = config;
    expect(renamed.body.data['config']).toEqual({ ...visible, username: 'you' });
    expect(await secretsOf()).toEqual({ password: 'old-password' });
    const moved = { host: 'b.example', password: 'old-password' };
    expect((await api('PATCH', path, { config: moved })).status).toBe(200);
    await api('PATCH', path, { config: { password: 'new-password' } });
    expect(await secretsOf()).toEqual({ password: 'new-password' });
    const open = await api('PATCH', path, { config: { username: null, password: null } });
    expect(open.body.data['config']).toEqual({ host: 'b.example', port: 25, from: 'a@b.example' });
    expect(await secretsOf()).toBeNull();
    expect(issuePaths(await api('PATCH', path, { config: { host: null } }))).toEqual(['config.host']);
    const slow = await api('PATCH', path, { status: 'paused', rate_per_second: 3 });
    expect(slow.body.data).toMatchObject({ status: 'paused', rate_per_second: 3 });
    expect((await api('PATCH', path, { rate_per_second: null })).body.data).toMatchObject({
      rate_per_second: null,
    });
  });

  const sendgrid_config = { api_key: 'SG.s3cret', from: 'a@b.example' };
  const smtp_config = {
    host: 'a.example',
    port: 587,
    username: 'u',
    password: 's3cret',
    from: 'a@b.example',
  };
  const elsewhere = { base_url: 'https://attacker.example' };
  it.each<[kind: string, config: object, changes: object, secret: string, value: unknown]>([
    ['sendgrid', sendgrid_config, elsewhere, 'api_key', 'SG.s3cret'],
    ['sendgrid', { ...sendgrid_config, ...elsewhere }, { base_url: null }, 'api_key', 'SG.s3cret'],
    [
      'sendgrid',
      { ...sendgrid_config, ...elsewhere },
      { base_url: 'https://attacker.example:8443' },
      'api_key',
      'k',
    ],
    ['smtp', smtp_config, { host: 'attacker.example' }, 'password', 's3cret'],
    ['smtp', smtp_config, { port: 2525 }, 'password', 's3cret'],
    ['smtp', { ...smtp_config, secure: true }, { secure: false }, 'password', 's3cret'],
    [
      'twilio',
      { account_sid: 'AC1', auth_token: 's3cret', from: '+356210' },
      elsewhere,
      'auth_token',
      's3cret',
    ],
    ['fcm', { service_account }, elsewhere, 'service_account', service_account],
  ])(
    '%s: a stored secret does not follow to another address: %j, then %j',
    async (kind, config, changes, secret, value) => {
      const channel = { sendgrid: 'email', smtp: 'email', twilio: 'sms', fcm: 'push' }[kind];
      const path = `${PATH}/${String((await make({ name: 'x', kind, channel, config }))['id'])}`;
      const refused = await api('PATCH', path, { config: changes });
      expect([refused.status, issuePaths(refused)]).toEqual([422, [`config.${secret}`]]);
      expect(refused.text).toContain('must be given again: the stored value is for');
      expect((await api('PATCH', path, { config: { from: config['from' as never] } })).status).toBeLessThan(
        500,
      );
      expect((await api('PATCH', path, { config: { ...changes, [secret]: value } })).status).toBe(200);
    },
  );

  it('keeps its secrets when the path alone changes, and under the same address in other words', async () => {
    const config = { ...sendgrid_config, base_url: 'https://mail.example/a' };
    const path = `${PATH}/${String((await make({ name: 'x', kind: 'sendgrid', channel: 'email', config }))['id'])}`;
    for (const base_url of ['https://mail.example/b', 'https://mail.example:443', 'https://MAIL.example']) {
      expect((await api('PATCH', path, { config: { base_url } })).status, base_url).toBe(200);
    }
  });

  const plain = { base_url: 'http://a.example' };
  it.each<[kind: string, channel: string, config: object, path: string]>([
    ['sendgrid', 'email', { ...sendgrid_config, ...plain }, 'config.base_url'],
    ['twilio', 'sms', { account_sid: 'AC1', auth_token: 't', from: '+356210', ...plain }, 'config.base_url'],
    ['fcm', 'push', { service_account, ...plain }, 'config.base_url'],
    [
      'fcm',
      'push',
      { service_account: { ...service_account, token_uri: 'http://a.example/token' } },
      'config.service_account.token_uri',
    ],
    ['smtp', 'email', { ...smtp_config, require_tls: false }, 'config.require_tls'],
  ])('%s: secrets do not go over the network in clear', async (kind, channel, config, path) => {
    const refused = await api('POST', PATH, { name: 'x', kind, channel, config });
    expect([refused.status, issuePaths(refused)], refused.text).toEqual([422, [path]]);
  });

  it('may send without encryption where no secret is sent, and to this machine in development', async () => {
    const { username: _user, password: _password, ...open } = smtp_config;
    for (const config of [
      { ...open, require_tls: false },
      { ...smtp_config, host: '127.0.0.1', port: 2525, require_tls: false },
      { ...smtp_config, secure: true, require_tls: false },
    ]) {
      const answer = await api('POST', PATH, { name: 'x', kind: 'smtp', channel: 'email', config });
      expect(answer.status, answer.text).toBe(201);
    }
    const { id } = await make({ name: 'x', kind: 'smtp', channel: 'email', config: smtp_config });
    const loosened = await api('PATCH', `${PATH}/${String(id)}`, { config: { require_tls: false } });
    expect(issuePaths(loosened)).toEqual(['config.require_tls']);
  });

  it.each([
    [
      { kind: 'smtp', channel: 'email', config: { host: 'a', port: 25, from: 'a@b.c\r\nBcc: d@e.f' } },
      'config.from',
    ],
    [{ kind: 'smtp', channel: 'email', config: { host: 'a b', port: 25, from: 'a@b.c' } }, 'config.host'],
    [{ kind: 'smtp', channel: 'email', config: { host: 'a', port: 0, from: 'a@b.c' } }, 'config.port'],
    [{ kind: 'sendgrid', channel: 'email', config: { api_key: 'a\nb', from: 'a@b.c' } }, 'config.api_key'],
    [
      {
        kind: 'sendgrid',
        channel: 'email',
        config: { api_key: 'a', from: 'a@b.c', base_url: 'file:///etc' },
      },
      'config.base_url',
    ],
    [{ kind: 'fcm', channel: 'push', config: { service_account: 'nonsense' } }, 'config.service_account'],
    [
      { kind: 'fcm', channel: 'push', config: { service_account: { ...service_account, private_key: 'x' } } },
      'config.service_account.private_key',
    ],
    [{ kind: 'post', channel: 'email' }, 'kind'],
    [{ channel: 'sms', rate_per_second: 0 }, 'rate_per_second'],
    [{ channel: 'sms', status: 'deleted' }, 'status'],
    [{}, 'channel'],
  ])('is refused: %j', async (body, path) => {
    expect(issuePaths(await api('POST', PATH, { name: 'x', ...body }))).toContain(path);
  });

  it.each(['https://a.example/t?next=', 'https://a.example/t#', 'https://user:word@a.example/t'])(
    'is refused with the token_uri %s',
    async (token_uri) => {
      const config = { service_account: { ...service_account, token_uri } };
      const answer = await api('POST', PATH, { name: 'x', kind: 'fcm', channel: 'push', config });
      expect(issuePaths(answer)).toContain('config.service_account.token_uri');
    },
  );

  it('keeps its kind and its channel', async () => {
    const { id } = await make({ name: 'x', channel: 'sms' });
    for (const body of [{ kind: 'smtp' }, { channel: 'email' }, { id: 'x' }]) {
      const answer = await api('PATCH', `${PATH}/${String(id)}`, body);
      expect([answer.status, answer.body.error.code]).toEqual([422, 'FIELD_NOT_WRITABLE']);
    }
    for (const missing of ['nonsense', '00000000-0000-4000-8000-000000000000']) {
      const answer = await api('GET', `${PATH}/${missing}`);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'PROVIDER_NOT_FOUND']);
    }
  });

  it('accepts a service account as the text of its file', async () => {
    const config = { service_account: JSON.stringify(service_account) };
    const { id, ...rest } = await make({ name: 'x', kind: 'fcm', channel: 'push', config });
    expect(JSON.stringify(rest)).not.toContain('PRIVATE');
    expect(id).toBeDefined();
  });

  it('belongs to its tenant, and pages are ordered', async () => {
    const other = await fixture.makeTenant();
    for (const name of ['a', 'b', 'c']) {
      const answer = await api(
        'POST',
        PATH,
        { name, channel: name === 'b' ? 'sms' : 'email' },
        other.session,
      );
      expect(answer.status).toBe(201);
    }
    const first = await api('GET', `${PATH}?limit=2`, undefined, other.session);
    const names = ({ body }: Answer) => (body.data as unknown as Body[]).map((row) => row['name']);
    expect(names(first)).toEqual(['c', 'b']);
    const cursor = String(first.body.meta['next_cursor']);
    const last = await api('GET', `${PATH}?limit=2&cursor=${cursor}`, undefined, other.session);
    expect(names(last)).toEqual(['a']);
    expect(last.body.meta['next_cursor']).toBeNull();
    expect(names(await api('GET', `${PATH}?channel=sms`, undefined, other.session))).toEqual(['b']);
    expect((await api('GET', `${PATH}?limit=2&cursor=${cursor}`)).status).toBe(422);
    const [theirs] = first.body.data as unknown as Body[];
    for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
      expect((await api(method, `${PATH}/${String(theirs?.['id'])}`, body)).status).toBe(404);
    }
  });

  it('is changed by admins only and read by every member', async () => {
    const { id } = await make({ name: 'x', channel: 'sms' });
    const editor = await fixture.member(tenant.tenant_id, 'editor');
    expect((await api('GET', `${PATH}/${String(id)}`, undefined, editor)).status).toBe(200);
    expect((await api('POST', PATH, { name: 'x', channel: 'sms' }, editor)).status).toBe(403);
    expect((await api('PATCH', `${PATH}/${String(id)}`, { name: 'y' }, editor)).status).toBe(403);
    expect((await api('DELETE', `${PATH}/${String(id)}`, undefined, editor)).status).toBe(403);
  });
});

it('secrets are encrypted with a generated key that only its owner may read, or with the configured one', async () => {
  const { config, deps } = fixture;
  const { mode } = await stat(join(config.data_dir, 'credentials-key'));
  expect(mode & 0o777).toBe(0o600);
  expect(deps.credentials_keys.current).toMatch(/^[0-9a-f]{64}$/);
  expect(await loadCredentialsKeys(config)).toEqual(deps.credentials_keys);
  const own = readConfig({ CREDENTIALS_KEY: 'ab'.repeat(32) });
  expect(await loadCredentialsKeys(own)).toEqual({ current: 'ab'.repeat(32), previous: undefined });
});

describe('the messages of a sandbox', () => {
  it('are read newest first, page by page, by recipient', async () => {
    const { id } = await make({ name: 'x', channel: 'sms' });
    const template = { name: 't', channel: 'sms', body: 'Hi {{first_name}}', status: 'active' };
    const { body } = await api('POST', '/v1/templates', template);
    const recipients = ['+1111', '+2222', '+3333'];
    for (const recipient of recipients) {
      const path = `/v1/templates/${String(body.data['id'])}/send-test`;
      const sent = await api('POST', path, { recipient, provider_id: id });
      expect(sent.status, sent.text).toBe(200);
    }
    const path = `${PATH}/${String(id)}/messages`;
    const first = await api('GET', `${path}?limit=2`);
    const told = ({ body: { data } }: Answer) => (data as unknown as Body[]).map((row) => row['recipient']);
    expect(told(first)).toEqual(['+3333', '+2222']);
    const cursor = String(first.body.meta['next_cursor']);
    expect(told(await api('GET', `${path}?limit=2&cursor=${cursor}`))).toEqual(['+1111']);
    expect(told(await api('GET', `${path}?recipient=%2B2222`))).toEqual(['+2222']);
    expect(told(await api('GET', `${path}?send_id=${String(id)}`))).toEqual([]);
    const { id: other } = await make({ name: 'y', channel: 'sms' });
    expect((await api('GET', `${PATH}/${String(other)}/messages?limit=2&cursor=${cursor}`)).status).toBe(422);
    const twilio = KINDS[2];
    const config = { ...twilio?.shown, ...twilio?.secrets };
    const { id: real } = await make({ name: 'z', kind: 'twilio', channel: 'sms', config });
    expect(issuePaths(await api('GET', `${PATH}/${String(real)}/messages`))).toEqual(['id']);
  });
});
