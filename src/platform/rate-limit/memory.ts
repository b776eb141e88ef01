import { BoundedCache } from '../bounded-cache.ts';
import type { Clock } from '../clock.ts';
import type { RateLimiter } from './port.ts';
import { fullBucket, takePermits, type Bucket } from './token-bucket.ts';
import { Windows } from './windows.ts';

const MAX_BUCKETS = 100_000;

/**
 * A rate limiter for one process, in memory. A bucket that is evicted from the bounded cache starts full again. `clock` is
 * that of the buckets; windows go by the real time.
 */
export function createMemoryRateLimiter(options: { clock: Clock }): RateLimiter {
  const { clock } = options;
  const buckets = new BoundedCache<string, Bucket>({ max: MAX_BUCKETS });
  const windows = new Windows();
  return {
    take(policy, key, count = 1) {
      const now_ms = clock.now_ms();
      const name = `${policy.name}:${key}`;
      let bucket = buckets.get(name);
      if (bucket === undefined) buckets.set(name, (bucket = fullBucket(policy, now_ms)));
      return takePermits(bucket, policy, { count, now_ms });
    },
    takeInWindow: (policy, key) => windows.take(policy, key),
    close: () => Promise.resolve(),
  };
}
