import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ConfigError,
  ERASING_ROLES,
  KEYED_ROLES,
  LIMITING_ROLES,
  readCommandConfig,
  readConfig,
  ROLES,
  SECRET_VARIABLES,
} from '../src/config.ts';

const servers = {
  KAFKA_BROKERS: 'one:9092, two:9092',
  PUBLIC_URL: 'https://engage.example.com',
  CREDENTIALS_KEY: 'ab'.repeat(32),
  ERASURE_KEY: 'ef'.repeat(32),
  INTERNAL_SECRET: 's'.repeat(32),
  CLICKHOUSE_URL: 'http://clickhouse:8123/engagement',
  POSTGRES_URL: 'postgres://postgres:5432/engagement',
  REDIS_URL: 'redis://redis:6379',
};

it('accepts encryption, a user and a client certificate for Kafka', () => {
  const config = readConfig({
    ...servers,
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: '/ca.pem',
    KAFKA_CERT_FILE: '/client.crt',
    KAFKA_KEY_FILE: '/client.key',
    KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256',
    KAFKA_SASL_USERNAME: 'engagement',
    KAFKA_SASL_PASSWORD: 'password',
  });
  expect(config.servers).toMatchObject({
    kafka_brokers: ['one:9092', 'two:9092'],
    kafka_tls: { ca_file: '/ca.pem', client: { cert_file: '/client.crt', key_file: '/client.key' } },
    kafka_sasl: { mechanism: 'SCRAM-SHA-256', username: 'engagement', password: 'password' },
  });
  expect(readConfig(servers).servers).toMatchObject({ kafka_tls: undefined, kafka_sasl: undefined });
});

it('min_insync_replicas is one less than the replication factor, unless configured otherwise', () => {
  const replicas = (given: Record<string, string>) => {
    const { kafka_replication_factor, kafka_min_insync_replicas } =
      readConfig({ ...servers, ...given }).servers ?? {};
    return [kafka_replication_factor, kafka_min_insync_replicas];
  };
  expect(replicas({})).toEqual([3, 2]);
  expect(replicas({ KAFKA_REPLICATION_FACTOR: '1' })).toEqual([1, 1]);
  expect(replicas({ KAFKA_REPLICATION_FACTOR: '5', KAFKA_MIN_INSYNC_REPLICAS: '3' })).toEqual([5, 3]);
});

it.each<[given: Record<string, string>, message: RegExp]>([
  [{ KAFKA_CA_FILE: '/ca.pem' }, /^KAFKA_CA_FILE: needs KAFKA_TLS=true$/],
  [
    { KAFKA_TLS: 'false', KAFKA_CERT_FILE: 'c', KAFKA_KEY_FILE: 'k' },
    /KAFKA_KEY_FILE: needs KAFKA_TLS=true$/,
  ],
  [{ KAFKA_TLS: 'true', KAFKA_KEY_FILE: '/key.pem' }, /together; missing: KAFKA_CERT_FILE$/],
  [{ KAFKA_TLS: 'yes' }, /^KAFKA_TLS: /],
  [{ KAFKA_SASL_MECHANISM: 'PLAIN' }, /missing: KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD$/],
  [{ KAFKA_SASL_PASSWORD: 'hush' }, /missing: KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME$/],
  [
    { KAFKA_SASL_MECHANISM: 'GSSAPI', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'hush' },
    /^KAFKA_SASL_MECHANISM: /,
  ],
  [{ KAFKA_REPLICATION_FACTOR: '2', KAFKA_MIN_INSYNC_REPLICAS: '3' }, /\(3\) is over .* \(2\)/],
])('refuses incomplete settings %o', (given, message) => {
  expect(() => readConfig({ ...servers, ...given })).toThrow(ConfigError);
  expect(() => readConfig({ ...servers, ...given })).toThrow(message);
  expect(() => readConfig({ ...servers, ...given })).not.toThrow(/hush/);
});

it('allows loopback destinations in development only, while the service listens on loopback', () => {
  const loopback = ['127.0.0.0/8', '::1/128'];
  expect(readConfig({}).egress_allow).toEqual(loopback);
  expect(readConfig({ HOST: '::1' }).egress_allow).toEqual(loopback);
  expect(readConfig({ HOST: '0.0.0.0' }).egress_allow).toEqual([]);
  // Behind a reverse proxy on the same machine strangers reach a service that listens on loopback.
  expect(readConfig({ SERVICE_ENV: 'prod' }).egress_allow).toEqual([]);
  expect(readConfig({ SERVICE_ENV: 'stag' }).egress_allow).toEqual([]);
  expect(readConfig(servers).egress_allow).toEqual([]);
  expect(readConfig({ ...servers, EGRESS_ALLOW: '127.0.0.1' }).egress_allow).toEqual(['127.0.0.1']);
  expect(readConfig({ EGRESS_ALLOW: 'none' }).egress_allow).toEqual([]);
  expect(readConfig({ EGRESS_ALLOW: '10.0.0.0/8, fd00::/8' }).egress_allow).toEqual([
    '10.0.0.0/8',
    'fd00::/8',
  ]);
  expect(() => readConfig({ EGRESS_ALLOW: '10.0.0.0/8,mail' })).toThrow(
    /^EGRESS_ALLOW: "mail" is not a valid network/,
  );
});

it('trusts no proxy unless its network is given', () => {
  expect(readConfig({}).trusted_proxies).toEqual([]);
  expect(readConfig({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }).trusted_proxies).toEqual(['10.0.0.0/8', '::1']);
  expect(() => readConfig({ TRUSTED_PROXIES: 'true' })).toThrow(
    /^TRUSTED_PROXIES: "true" is not a valid network/,
  );
});

it('refuses security settings when no Kafka is configured', () => {
  expect(() => readConfig({ KAFKA_TLS: 'true' })).toThrow(/need KAFKA_BROKERS/);
});

it('operations have an address of their own only with OPS_PORT', () => {
  expect(readConfig({}).ops).toBeUndefined();
  expect(readConfig({ OPS_PORT: '8082', HOST: '127.0.0.2' }).ops).toEqual({ host: '127.0.0.2', port: 8082 });
  expect(readConfig({ OPS_PORT: '8082', OPS_HOST: '10.0.0.1' }).ops).toEqual({
    host: '10.0.0.1',
    port: 8082,
  });
  expect(() => readConfig({ OPS_HOST: '10.0.0.1' })).toThrow('OPS_HOST: needs OPS_PORT');
  expect([readConfig({}).drain_ms, readConfig({ DRAIN_SECONDS: '5' }).drain_ms]).toEqual([0, 5_000]);
});

it('servers need CREDENTIALS_KEY only where a role of the process encrypts', () => {
  const without = { ...servers, CREDENTIALS_KEY: '' };
  for (const role of ROLES) {
    const read = () => readConfig({ ...without, ROLES: role });
    if (KEYED_ROLES.includes(role)) expect(read, role).toThrow('CREDENTIALS_KEY: must be set');
    else expect(read().credentials_key, role).toBeUndefined();
  }
  expect(() => readConfig({ ...without, ROLES: 'intake,messenger' })).toThrow('CREDENTIALS_KEY: must be set');
});

it('servers need ERASURE_KEY only where a role of the process erases people or recognises them', () => {
  for (const role of ROLES) {
    const read = () => readConfig({ ...servers, ERASURE_KEY: '', ROLES: role });
    if (ERASING_ROLES.includes(role)) expect(read, role).toThrow('ERASURE_KEY: must be set');
    else expect(read().erasure_key, role).toBeUndefined();
  }
});

it('servers need INTERNAL_SECRET only where the role api checks it', () => {
  for (const role of ROLES) {
    const read = () => readConfig({ ...servers, INTERNAL_SECRET: '', ROLES: role });
    if (role === 'api') expect(read).toThrow('INTERNAL_SECRET: must be set');
    else expect(read().internal_secret, role).toBeUndefined();
  }
});

it('servers need REDIS_URL only where a role of the process has limits', () => {
  for (const role of ROLES) {
    const read = () => readConfig({ ...servers, REDIS_URL: '', ROLES: role });
    if (LIMITING_ROLES.includes(role)) expect(read, role).toThrow('missing: REDIS_URL');
    else expect(read().servers?.redis_url, role).toBeUndefined();
  }
});

describe('a secret in a file', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'engagement-secrets-'));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));
  const file = async (text: string) => {
    const path = join(dir, String(Math.random()));
    await writeFile(path, text);
    return path;
  };

  it.each(SECRET_VARIABLES)('%s is read without the line break at its end', async (name) => {
    const given = {
      ...servers,
      KAFKA_SASL_MECHANISM: 'PLAIN',
      KAFKA_SASL_USERNAME: 'u',
      KAFKA_SASL_PASSWORD: 'p',
    };
    const oidc = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'c', PUBLIC_URL: 'https://e.example' };
    const value = /^(CREDENTIALS|ERASURE)_KEY/.test(name)
      ? 'cd'.repeat(32)
      : name.endsWith('_URL')
        ? 'http://in.file'
        : 'f'.repeat(32);
    const { [name]: _left_out, ...rest }: Record<string, string> = { ...given, ...oidc };
    for (const end of ['', '\n', '\r\n']) {
      const config = readConfig({ ...rest, [`${name}_FILE`]: await file(value + end) });
      expect(JSON.stringify(config), end).toContain(`"${value}"`);
    }
  });

  it('is refused when it is given twice, missing or empty, by a message without it', async () => {
    const path = await file('s'.repeat(32));
    const both = { INTERNAL_SECRET: 's'.repeat(32), INTERNAL_SECRET_FILE: path };
    expect(() => readConfig(both)).toThrow('give INTERNAL_SECRET or INTERNAL_SECRET_FILE, not both');
    const nowhere = join(dir, 'nowhere');
    expect(() => readConfig({ POSTGRES_URL_FILE: nowhere })).toThrow(
      `POSTGRES_URL_FILE: "${nowhere}" cannot be read (ENOENT)`,
    );
    const empty = await file('\n');
    expect(() => readConfig({ REDIS_URL_FILE: empty })).toThrow(`REDIS_URL_FILE: "${empty}" is empty`);
    expect(() => readConfig({ CREDENTIALS_KEY_FILE: path })).toThrow(/^CREDENTIALS_KEY: must be 32 bytes/);
    expect(() => readConfig({ CREDENTIALS_KEY_FILE: path })).not.toThrow(/sss/);
  });
});

it.each(['PUBLIC_URL', 'CREDENTIALS_KEY', 'ERASURE_KEY', 'INTERNAL_SECRET'])(
  'servers need %s: without it the start is refused',
  (name) => {
    for (const empty of ['', undefined]) {
      expect(() => readConfig({ ...servers, [name]: empty })).toThrow(`${name}: must be set`);
      // A command such as `npm run positions` uses neither.
      expect(readCommandConfig({ ...servers, [name]: empty }).servers).toEqual(readConfig(servers).servers);
    }
    const {
      KAFKA_BROKERS: _kafka,
      CLICKHOUSE_URL: _click,
      POSTGRES_URL: _sql,
      REDIS_URL: _redis,
      ...rest
    } = servers;
    expect(readConfig({ ...rest, [name]: '' }).servers).toBeUndefined();
  },
);

describe('the identity provider of the console', () => {
  const given = { OIDC_ISSUER: 'https://id.example/tenant', OIDC_CLIENT_ID: 'console' };
  const public_url = { PUBLIC_URL: 'https://engage.example.com' };

  it('is an issuer and a client, with or without a secret', () => {
    expect(readConfig({}).console_provider).toBeUndefined();
    expect(readConfig({ ...public_url, ...given }).console_provider).toEqual({
      issuer: 'https://id.example/tenant',
      client_id: 'console',
      client_secret: undefined,
    });
    const secret = { OIDC_CLIENT_SECRET: 'hush' };
    expect(readConfig({ ...public_url, ...given, ...secret }).console_provider?.client_secret).toBe('hush');
  });

  it.each(['http://localhost:9000', 'http://127.0.0.1:9000/tenant', 'http://[::1]:9000'])(
    'is %s in development',
    (OIDC_ISSUER) => {
      expect(readConfig({ ...given, OIDC_ISSUER }).console_provider?.issuer).toBe(OIDC_ISSUER);
    },
  );

  it.each<[given: Record<string, string>, message: RegExp]>([
    [{ OIDC_ISSUER: 'https://id.example' }, /OIDC_ISSUER and OIDC_CLIENT_ID together/],
    [{ OIDC_CLIENT_ID: 'console' }, /OIDC_ISSUER and OIDC_CLIENT_ID together/],
    [{ OIDC_CLIENT_SECRET: 'hush' }, /OIDC_CLIENT_SECRET needs both/],
    [{ ...given, OIDC_ISSUER: 'http://id.example' }, /^OIDC_ISSUER: must be an https URL/],
    [{ ...given, OIDC_ISSUER: 'http://localhost.evil.example' }, /^OIDC_ISSUER: must be an https URL/],
    [{ ...given, OIDC_ISSUER: 'id.example' }, /^OIDC_ISSUER: must be an http/],
    [{ ...given, OIDC_ISSUER: 'https://id.example?tenant=1' }, /^OIDC_ISSUER: must have no query/],
    [{ ...given, PUBLIC_URL: 'http://engage.example.com' }, /^PUBLIC_URL: must be an https URL/],
  ])('is not %o', (half, message) => {
    expect(() => readConfig({ ...public_url, ...half })).toThrow(ConfigError);
    expect(() => readConfig({ ...public_url, ...half })).toThrow(message);
  });
});
