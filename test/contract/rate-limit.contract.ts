import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RateLimiter, RatePolicy } from '../../src/platform/rate-limit/port.ts';

export interface LimiterFixture {
  /** Opens a limiter on the shared store, as one process does. */
  open(): RateLimiter;
  stop(): Promise<void>;
}

/** The guarantees of every rate limiter (see port.ts), by the wall clock. */
export function rateLimitContract(name: string, start: () => Promise<LimiterFixture>): void {
  describe(`rate limiter: ${name}`, () => {
    let fixture: LimiterFixture;
    let limiter: RateLimiter;
    beforeAll(async () => {
      fixture = await start();
      limiter = fixture.open();
    });
    afterAll(async () => {
      await limiter?.close();
      await fixture?.stop();
    });

    test('a full bucket allows its burst and then refuses', async () => {
      // So slow that the bucket is not refilled during the test.
      const policy: RatePolicy = { name: 'burst', per_second: 0.001, burst: 25 };
      const key = randomUUID();
      for (let i = 0; i < 25; i++) {
        const verdict = await limiter.take(policy, key);
        expect(verdict).toMatchObject({ allowed: true, remaining: 24 - i, retry_after_ms: 0 });
        expect(verdict.reset_ms).toBeGreaterThan(0);
      }
      const refused = await limiter.take(policy, key);
      expect(refused).toMatchObject({ allowed: false, remaining: 0 });
      expect(refused.retry_after_ms).toBeGreaterThan(900_000);
      expect(refused.reset_ms).toBeGreaterThan(24_000_000);
    });

    test('concurrent calls get exactly the burst in total', async () => {
      const policy: RatePolicy = { name: 'burst', per_second: 0.001, burst: 250 };
      const key = randomUUID();
      const verdicts = await Promise.all(Array.from({ length: 400 }, async () => limiter.take(policy, key)));
      expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(250);
    });

    test('several permits are taken together or not at all', async () => {
      const policy: RatePolicy = { name: 'several', per_second: 0.001, burst: 100 };
      const key = randomUUID();
      expect(await limiter.take(policy, key, 60)).toMatchObject({ allowed: true, remaining: 40 });
      const refused = await limiter.take(policy, key, 60);
      expect(refused.allowed).toBe(false);
      expect(refused.retry_after_ms).toBeGreaterThan(15_000_000);
      expect(refused.retry_after_ms).toBeLessThanOrEqual(20_000_000);
      expect(await limiter.take(policy, key, 40)).toMatchObject({ allowed: true, remaining: 0 });
      expect((await limiter.take(policy, key)).allowed).toBe(false);
    });

    test('more than the burst is taken from a full bucket, which then owes the rest', async () => {
      const policy: RatePolicy = { name: 'debt', per_second: 0.001, burst: 100 };
      const key = randomUUID();
      expect(await limiter.take(policy, key, 250)).toMatchObject({ allowed: true, remaining: 0 });
      const refused = await limiter.take(policy, key);
      expect(refused.allowed).toBe(false);
      // 150 permits are owed.
      expect(refused.retry_after_ms).toBeGreaterThan(149_000_000);
      const almost_full = randomUUID();
      expect((await limiter.take(policy, almost_full)).allowed).toBe(true);
      expect((await limiter.take(policy, almost_full, 250)).allowed).toBe(false);
      expect((await limiter.take(policy, almost_full, 99)).allowed).toBe(true);
    });

    test('concurrent calls for several get no more than the burst in total', async () => {
      const policy: RatePolicy = { name: 'concurrent', per_second: 0.001, burst: 400 };
      const key = randomUUID();
      const verdicts = await Promise.all(
        Array.from({ length: 30 }, async () => limiter.take(policy, key, 50)),
      );
      expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(8);
    });

    test('each key and each policy has its own bucket', async () => {
      const key = randomUUID();
      const one: RatePolicy = { name: 'one', per_second: 0.001, burst: 1 };
      expect((await limiter.take(one, key)).allowed).toBe(true);
      expect((await limiter.take(one, key)).allowed).toBe(false);
      expect((await limiter.take(one, randomUUID())).allowed).toBe(true);
      expect((await limiter.take({ ...one, name: 'two' }, key)).allowed).toBe(true);
    });

    test('a refused caller that waits for the stated time is allowed', async () => {
      const policy: RatePolicy = { name: 'refill', per_second: 20, burst: 2 };
      const key = randomUUID();
      let refused = await limiter.take(policy, key);
      while (refused.allowed) refused = await limiter.take(policy, key);
      expect(refused.retry_after_ms).toBeLessThanOrEqual(51);
      // A timer may fire a millisecond early.
      await sleep(refused.retry_after_ms + 1);
      expect((await limiter.take(policy, key)).allowed).toBe(true);
    });

    test('a window allows its permits, and then refuses until it ends', async () => {
      // A quarter of an hour, so that it does not end during the test.
      const policy: RatePolicy = { name: 'window', per_second: 1 / 36, burst: 25 };
      const key = randomUUID();
      for (let i = 0; i < 25; i++) {
        const verdict = await limiter.takeInWindow(policy, key);
        expect(verdict).toMatchObject({ allowed: true, remaining: 24 - i, retry_after_ms: 0 });
        expect(verdict.reset_ms).toBeGreaterThan(600_000);
      }
      for (let i = 0; i < 3; i++) {
        const refused = await limiter.takeInWindow(policy, key);
        expect(refused).toMatchObject({ allowed: false, remaining: 0 });
        expect(refused.retry_after_ms).toBeGreaterThan(600_000);
        expect(refused.retry_after_ms).toBeLessThanOrEqual(900_000);
      }
      expect((await limiter.takeInWindow(policy, randomUUID())).allowed).toBe(true);
      expect((await limiter.takeInWindow({ ...policy, name: 'another' }, key)).allowed).toBe(true);
    });

    test('concurrent calls get exactly the permits of a window in total', async () => {
      const policy: RatePolicy = { name: 'window', per_second: 0.1, burst: 250 };
      const key = randomUUID();
      const verdicts = await Promise.all(
        Array.from({ length: 400 }, async () => limiter.takeInWindow(policy, key)),
      );
      expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(250);
    });

    test('a caller that waits until its window ends has all permits again', async () => {
      const policy: RatePolicy = { name: 'second', per_second: 3, burst: 3 };
      const key = randomUUID();
      let refused = await limiter.takeInWindow(policy, key);
      while (refused.allowed) refused = await limiter.takeInWindow(policy, key);
      expect(refused.retry_after_ms).toBeLessThanOrEqual(1_000);
      await sleep(refused.retry_after_ms + 1);
      expect(await limiter.takeInWindow(policy, key)).toMatchObject({ allowed: true, remaining: 2 });
    });
  });
}
