import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mayIssueSessions, openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { createInternalSecretCheck, loadInternalSecret } from '../../src/auth/internal-secret.ts';
import { createTokenVerifier } from '../../src/auth/token-verifier.ts';
import { readConfig } from '../../src/config.ts';

const PROVIDER = { AUTH_JWKS_URL: 'https://i/k', AUTH_ISSUER: 'i', AUTH_AUDIENCE: 'a' };
const DAY_MS = 86_400_000;

test('the service signs sessions only on loopback and without an identity provider', () => {
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    expect(mayIssueSessions(readConfig({ HOST })), HOST).toBe(true);
    expect(mayIssueSessions(readConfig({ HOST, ...PROVIDER })), HOST).toBe(false);
  }
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', 'localhost.example']) {
    expect(mayIssueSessions(readConfig({ HOST })), HOST).toBe(false);
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
