import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import type { RateLimiter, RatePolicy } from '../../../src/platform/rate-limit/port.ts';
import { createRedisRateLimiter } from '../../../src/platform/rate-limit/redis.ts';
import { Windows } from '../../../src/platform/rate-limit/windows.ts';

/** So long that no window ends during a test. */
const POLICY: RatePolicy = { name: 'long', per_second: 0.001, burst: 3 };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server that takes connections, and closes them at once or never answers. */
async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function openLimiter(port: number) {
  const metrics = createMetrics();
  const limiter = createRedisRateLimiter({
    redis_url: `redis://127.0.0.1:${port}`,
    clock: systemClock,
    logger: createLogger('silent'),
    metrics,
    command_timeout_ms: 20,
  });
  closing.push(() => limiter.close());
  return { limiter, degraded: async () => (await metrics.rateLimiterDegraded.get()).values[0]?.value };
}

const takeFive = (limiter: RateLimiter, key: string) =>
  Promise.all(Array.from({ length: 5 }, async () => (await limiter.takeInWindow(POLICY, key)).allowed));

test.each([
  ['does not answer', (socket: Socket) => void closing.push(() => socket.destroy())],
  ['closes its connections', (socket: Socket) => void socket.destroy()],
])('while Redis %s, windows are counted by the process alone', async (_, onConnection) => {
  const { limiter, degraded } = openLimiter(await listen(onConnection));
  expect(await degraded()).toBe(0);
  expect(await takeFive(limiter, 'one')).toEqual([true, true, true, false, false]);
  expect(await degraded()).toBe(1);
  expect(await takeFive(limiter, 'one')).toEqual([false, false, false, false, false]);
  expect(await takeFive(limiter, 'two')).toEqual([true, true, true, false, false]);
});

test('a process counts the windows of so many keys of a policy; that of the key used longest ago begins again', async () => {
  const windows = new Windows();
  const useUp = async (key: string) => {
    while ((await windows.take(POLICY, key)).allowed);
  };
  for (const key of ['first', 'second']) await useUp(key);
  for (let n = 0; n < 9_999; n++) await windows.take(POLICY, `key ${n}`);
  expect((await windows.take(POLICY, 'second')).allowed).toBe(false);
  expect(await windows.take(POLICY, 'first')).toMatchObject({ allowed: true, remaining: 2 });
});
