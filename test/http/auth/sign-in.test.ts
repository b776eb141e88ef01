import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDevIssuer, SIGN_IN_MS } from '../../../src/http/auth/dev-issuer.ts';
import { createInternalSecretCheck, loadInternalSecret } from '../../../src/http/auth/internal-secret.ts';
import { createTokenVerifier } from '../../../src/http/auth/token-verifier.ts';
import { barsOfOwnSessions, readConfig } from '../../../src/config.ts';

const DAY_MS = 86_400_000;
const SERVERS = {
  KAFKA_BROKERS: 'a:1',
  CLICKHOUSE_URL: 'http://c',
  POSTGRES_URL: 'postgres://p',
  REDIS_URL: 'redis://r',
  CREDENTIALS_KEY: 'ab'.repeat(32),
  ERASURE_KEY: 'ef'.repeat(32),
  INTERNAL_SECRET: 's'.repeat(32),
  PUBLIC_URL: 'http://localhost',
};

test('the service signs sessions only in development, on one machine, with its own engines', () => {
  const bars = (environment: Record<string, string>) => barsOfOwnSessions(readConfig(environment));
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) expect(bars({ HOST }), HOST).toEqual([]);
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', 'localhost.example']) {
    expect(bars({ HOST }), HOST).toEqual([`HOST is "${HOST}", which is not a loopback address`]);
    expect(bars({ OPS_PORT: '1', OPS_HOST: HOST })).toEqual([expect.stringMatching(/^OPS_HOST is/)]);
  }
  for (const SERVICE_ENV of ['prod', 'stag']) {
    expect(bars({ SERVICE_ENV })).toEqual([`SERVICE_ENV is "${SERVICE_ENV}", not "dev"`]);
  }
  for (const PUBLIC_URL of ['http://localhost:1', 'https://127.0.0.1', 'http://[::1]:8080']) {
    expect(bars({ PUBLIC_URL }), PUBLIC_URL).toEqual([]);
  }
  for (const PUBLIC_URL of [
    'https://engage.example.com',
    'http://10.0.0.1',
    'http://localhost.evil.example',
  ]) {
    expect(bars({ PUBLIC_URL }), PUBLIC_URL).toEqual([expect.stringMatching(/^PUBLIC_URL is/)]);
  }
  expect(bars(SERVERS)).toEqual(['KAFKA_BROKERS is given: the engines are servers']);
  expect(
    bars({ ...SERVERS, SERVICE_ENV: 'prod', HOST: '0.0.0.0', PUBLIC_URL: 'https://e.example' }),
  ).toHaveLength(4);
});

test('a token of a sign-in is for one sign-in, of one user, within a day', async () => {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-unit-'));
  try {
    let now_ms = 1_000;
    const issuer = await openDevIssuer(data_dir, { now_ms: () => now_ms });
    const [one, two, late] = [issuer.issueSignIn('a'), issuer.issueSignIn('b'), issuer.issueSignIn('c')];
    expect(one).toMatch(/^[\w-]{43}$/);
    expect([issuer.takeSignIn('x'.repeat(43)), issuer.takeSignIn('')]).toEqual([undefined, undefined]);
    expect([issuer.takeSignIn(two), issuer.takeSignIn(two)]).toEqual(['b', undefined]);
    now_ms += SIGN_IN_MS - 1;
    expect(issuer.takeSignIn(one)).toBe('a');
    now_ms += 1;
    expect(issuer.takeSignIn(late)).toBeUndefined();
    // Another start of the service knows nothing of them.
    const restarted = await openDevIssuer(data_dir, { now_ms: () => 1_000 });
    expect(restarted.takeSignIn(issuer.issueSignIn('a'))).toBeUndefined();
    // However many are made, the newest are kept.
    const many = Array.from({ length: 150 }, (_, n) => issuer.issueSignIn(String(n)));
    expect(many.map((token) => issuer.takeSignIn(token)).filter((user) => user !== undefined)).toHaveLength(
      100,
    );
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
});

test('a development session is valid for 30 days, also after a restart', async () => {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-unit-'));
  try {
    const start_ms = Date.parse('2026-01-01T00:00:00Z');
    let now_ms = start_ms;
    const clock = { now_ms: () => now_ms };
    const token = await (await openDevIssuer(data_dir, clock)).issueSession('user');
    const restarted = await openDevIssuer(data_dir, clock);
    const verify = createTokenVerifier(restarted.trusted, clock);
    now_ms = start_ms + 30 * DAY_MS - 1;
    expect(await verify(token)).toEqual({ user_id: 'user', expires_at_ms: start_ms + 30 * DAY_MS });
    now_ms = start_ms + 30 * DAY_MS;
    await expect(verify(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    const stranger = await openDevIssuer(join(data_dir, 'other'), clock);
    now_ms = start_ms;
    await expect(createTokenVerifier(stranger.trusted, clock)(token)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
});

test('the internal secret is the configured one, otherwise it is generated once and kept', async () => {
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-unit-'));
  try {
    const made = await loadInternalSecret(readConfig({ DATA_DIR: data_dir }));
    expect(made).toMatch(/^[0-9a-f]{64}$/);
    expect(await loadInternalSecret(readConfig({ DATA_DIR: data_dir }))).toBe(made);
    const INTERNAL_SECRET = 's'.repeat(32);
    expect(await loadInternalSecret(readConfig({ DATA_DIR: data_dir, INTERNAL_SECRET }))).toBe(
      INTERNAL_SECRET,
    );
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
});

test('during a rotation of the internal secret both secrets are accepted, and no other', () => {
  const [current, previous] = ['c'.repeat(32), 'p'.repeat(32)];
  const both = createInternalSecretCheck([current, previous]);
  for (const secret of [current, previous]) expect(() => both(secret)).not.toThrow();
  for (const wrong of [undefined, '', `${current} `, `${current},${previous}`, current + previous]) {
    expect(() => both(wrong)).toThrow(/X-Internal-Secret/);
  }
  expect(() => createInternalSecretCheck([current])(previous)).toThrow(/X-Internal-Secret/);
});
