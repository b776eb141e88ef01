import { array, assert, integer, nat, property } from 'fast-check';
import { test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createMemoryRateLimiter } from '../../src/platform/rate-limit/memory.ts';
import type { RateVerdict } from '../../src/platform/rate-limit/port.ts';
import { runs } from '../engines/effort.ts';
import { rateLimitContract } from './rate-limit.contract.ts';

rateLimitContract('in memory', async () => ({
  open: () => createMemoryRateLimiter({ clock: systemClock }),
  stop: () => Promise.resolve(),
}));

/**
 * An independent model: it keeps the history of permits instead of a bucket. A permit is free when no interval that
 * ends now holds more permits than burst + rate × length of the interval. Times are whole milliseconds and rates
 * multiples of 1,000 a second, so both are computed with integers.
 */
function allowedByHistory(
  taken_ms: readonly number[],
  now_ms: number,
  per_ms: number,
  burst: number,
): boolean {
  return taken_ms.every((start_ms, index) => {
    const in_interval = taken_ms.length - index + 1;
    return in_interval <= burst + per_ms * (now_ms - start_ms);
  });
}

test('the bucket agrees with the model of permits, at every time and rate', () => {
  const steps = array(nat({ max: 8 }), { minLength: 1, maxLength: 120 });
  assert(
    property(steps, integer({ min: 1, max: 4 }), integer({ min: 1, max: 12 }), (waits, per_ms, burst) => {
      let now_ms = 1_000_000;
      const limiter = createMemoryRateLimiter({ clock: { now_ms: () => now_ms } });
      const policy = { name: 'model', per_second: per_ms * 1_000, burst };
      const taken_ms: number[] = [];
      for (const wait_ms of waits) {
        // Short waits, mostly none, so that the bucket is often empty.
        now_ms += wait_ms > 5 ? wait_ms - 5 : 0;
        const verdict = limiter.take(policy, 'key') as RateVerdict;
        if (verdict.allowed !== allowedByHistory(taken_ms, now_ms, per_ms, burst)) return false;
        if (verdict.allowed) taken_ms.push(now_ms);
      }
      return true;
    }),
    { numRuns: runs(300) },
  );
});
