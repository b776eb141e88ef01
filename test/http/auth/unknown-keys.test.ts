import { expect, test } from 'vitest';
import { networkOf, UnknownKeys } from '../../../src/http/auth/unknown-keys.ts';
import { createMemoryRateLimiter } from '../../../src/platform/rate-limit/memory.ts';

let now_ms = 1_000_000;
const clock = { now_ms: () => now_ms };
const rate_limiter = createMemoryRateLimiter({ clock });

async function guess(keys: UnknownKeys, address: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await keys.add(`${address} ${n}`, address);
}

test('an address counts as guessing from its 30th unknown key until a minute has passed', async () => {
  const keys = new UnknownKeys(clock, rate_limiter);
  const [one, neighbour, other] = ['2001:db8:1:2::9', '2001:db8:1:2::7', '2001:db8:1:3::9'];
  await guess(keys, one, 29);
  expect(keys.isGuessing(one)).toBe(false);
  await guess(keys, one, 1);
  expect([one, neighbour, other].map((address) => keys.isGuessing(address))).toEqual([true, true, false]);
  now_ms += 60_000;
  expect(keys.isGuessing(one)).toBe(false);
});

test('processes count the guesses of an address together', async () => {
  const [first, second] = [new UnknownKeys(clock, rate_limiter), new UnknownKeys(clock, rate_limiter)];
  await guess(first, '192.0.2.7', 29);
  await guess(second, '192.0.2.7', 1);
  expect([first.isGuessing('192.0.2.7'), second.isGuessing('192.0.2.7')]).toEqual([false, true]);
  await guess(first, '192.0.2.7', 1);
  expect(first.isGuessing('192.0.2.7')).toBe(true);
});

test('a key that is not known is refused without a query for 5 s', async () => {
  const keys = new UnknownKeys(clock, rate_limiter);
  await keys.add('unknown', '192.0.2.8');
  expect(keys.has('unknown')).toBe(true);
  now_ms += 5_000;
  expect(keys.has('unknown')).toBe(false);
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
