import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiKeys } from '../../src/auth/authenticators.ts';
import { networkOf } from '../../src/auth/unknown-keys.ts';
import { readConfig } from '../../src/config.ts';
import type { ApiError } from '../../src/errors.ts';
import { startProxiedService, type ProxiedService } from './proxied-service.ts';

let service: ProxiedService;

beforeAll(async () => {
  service = await startProxiedService();
});
afterAll(() => service?.close());

const guess = () =>
  `svc_pk_dev_${randomInt(2 ** 40)
    .toString(36)
    .padStart(8, '0')
    .slice(0, 8)}_${'x'.repeat(44)}`;
const guesses = (count: number) => Promise.all(Array.from({ length: count }, () => service.event(guess())));
const statuses = (answers: { status: number }[]) =>
  [...new Set(answers.map(({ status }) => status))].sort((a, b) => a - b);

test('guessing keys costs Postgres next to nothing, and no good key behind the same address is refused', async () => {
  expect((await service.event(service.api_key)).status).toBe(202);
  const { api_key: unseen } = await service.newTenant();
  for (let round = 0; round < 4; round++) expect(statuses(await guesses(10))).toEqual([401]);
  const before = service.proxy.passed();
  const started_ms = performance.now();
  const [guessed, known, first_use] = await Promise.all([
    guesses(150),
    service.event(service.api_key),
    service.event(unseen),
  ]);
  const took_s = (performance.now() - started_ms) / 1_000;
  expect(statuses(guessed)).toEqual([401]);
  expect([known.status, first_use.status]).toEqual([202, 202]);
  // One look-up for all of them each second, and the configuration of one tenant.
  expect(service.proxy.passed() - before).toBeLessThan(10 + 5 * took_s);
});

test('guesses beyond what waits for the next look-up are refused; other addresses wait for none of them', async () => {
  const { platform, proxy } = service;
  const { notifications } = service.service;
  const keys = await openApiKeys({
    ...platform,
    config: readConfig({}),
    sql: platform.postgres.service,
    notifications,
  });
  const ask = async (key: string, ip: string) => {
    try {
      return (await keys.authenticate(`Bearer ${key}`, { ip })).tenant_id;
    } catch (error) {
      return error as ApiError;
    }
  };
  const askAll = (count: number) =>
    Promise.all(Array.from({ length: count }, () => ask(guess(), '2001:db8:1:2::9')));
  await askAll(40);
  const before = proxy.passed();
  const waiting = askAll(300);
  expect(await ask(service.api_key, '2001:db8:1:3::9')).toBe(service.tenant_id);
  expect(proxy.passed() - before).toBe(1);
  const answers = (await waiting).map((error) => (error as ApiError).code);
  expect(answers.filter((code) => code === 'UNAUTHORIZED')).toHaveLength(200);
  expect(answers.filter((code) => code === 'RATE_LIMITED')).toHaveLength(100);
  expect(proxy.passed() - before).toBeLessThan(5);
  expect(await ask(service.api_key, '2001:db8:1:2::7')).toBe(service.tenant_id);
});

test('an address that stops to guess is looked up at once again', async () => {
  await guesses(40);
  service.advance(61_000);
  // A look-up that waits for guesses takes a second each time; a pause of the machine delays one.
  let least_ms = Infinity;
  for (let i = 0; i < 5 && least_ms >= 1_000; i++) {
    const { api_key } = await service.newTenant();
    const started_ms = performance.now();
    expect((await service.event(api_key)).status).toBe(202);
    least_ms = Math.min(least_ms, performance.now() - started_ms);
  }
  expect(least_ms).toBeLessThan(1_000);
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1::9', '2001:db8:1:0'],
  ['2001:db8::', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
