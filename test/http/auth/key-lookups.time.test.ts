import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { guess } from './guess.ts';
import { startProxiedService, type ProxiedService } from './proxied-service.ts';

/** A request waits for a second at most, for the key and for the tenant each; a loaded machine adds to that. */
const NOT_HELD_UP_MS = 9_000;

let service: ProxiedService;
let tenant: TestTenant;

beforeAll(async () => {
  service = await startProxiedService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  expect((await service.event(tenant.api_key)).status).toBe(202);
});
afterEach(async () => {
  service.proxy.restore();
  await until(async (saw) => saw(await service.event((await service.newTenant()).api_key)).status === 202);
});

const timed = async (key = tenant.api_key) => {
  const started_ms = performance.now();
  const { status, body } = await service.event(key);
  return { status, code: body.error?.code, took_ms: performance.now() - started_ms };
};

/** The answers that were late, or were not 202. */
const heldUp = (answers: Awaited<ReturnType<typeof timed>>[]) =>
  answers.filter(({ status, took_ms }) => status !== 202 || took_ms >= NOT_HELD_UP_MS);
const timedOften = (times: number) => Promise.all(Array.from({ length: times }, () => timed()));

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

test('a Postgres that refuses connections holds up nobody whose key is known', async () => {
  service.proxy.refuse();
  // As long as what was known stays usable.
  for (let minute = 2; minute <= 14; minute += 4) {
    service.advance(4 * 60_000 - 30_000);
    expect(heldUp(await timedOften(3)), `minute ${minute}`).toEqual([]);
  }
});

test('a Postgres that loses packets holds up nobody whose key is known', async () => {
  service.advance(61_000);
  service.proxy.hang();
  expect(heldUp(await timedOften(1))).toEqual([]);
  expect(heldUp(await timedOften(20))).toEqual([]);
});

test('locked tables hold up nobody whose key is known', async () => {
  service.advance(61_000);
  await service.direct.service.begin(async (tx) => {
    await tx`lock table api_keys, tenants, tenant_configs, currencies in access exclusive mode`;
    expect(heldUp(await timedOften(1))).toEqual([]);
    expect(heldUp(await timedOften(20))).toEqual([]);
    expect(await timed(guess())).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' });
  });
});
