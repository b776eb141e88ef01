import type { RatePolicy, RateVerdict } from './port.ts';

/** A bucket's content at a moment; fractions of a permit accumulate. */
export interface Bucket {
  permits: number;
  at_ms: number;
}

/** A bucket with `policy.burst` permits. */
export function fullBucket(policy: RatePolicy, now_ms: number): Bucket {
  return { permits: policy.burst, at_ms: now_ms };
}

/** The permits in the bucket at `now_ms`. When the clock steps back, nothing is refilled. */
export function contentOf(bucket: Bucket, policy: RatePolicy, now_ms: number): number {
  const refilled = Math.max(0, now_ms - bucket.at_ms) * (policy.per_second / 1000);
  return Math.min(policy.burst, bucket.permits + refilled);
}

/**
 * Refills the bucket to `now_ms` and takes `count` permits if they are there, or all of a full bucket and the rest as a
 * debt. Changes `bucket` in place.
 */
export function takePermits(
  bucket: Bucket,
  policy: RatePolicy,
  { count, now_ms }: { count: number; now_ms: number },
): RateVerdict {
  const per_ms = policy.per_second / 1000;
  bucket.permits = contentOf(bucket, policy, now_ms);
  bucket.at_ms = Math.max(bucket.at_ms, now_ms);
  const needed = neededOf(policy, count);
  const allowed = bucket.permits >= needed;
  if (allowed) bucket.permits -= count;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(bucket.permits)),
    retry_after_ms: allowed ? 0 : Math.ceil((needed - bucket.permits) / per_ms),
    reset_ms: Math.ceil((policy.burst - bucket.permits) / per_ms),
  };
}

/** How many permits must be there for `count` to be taken: a bucket never has more than its burst. */
export function neededOf({ burst }: RatePolicy, count: number): number {
  return Math.min(count, burst);
}
