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

/** Refills the bucket to `now_ms` and takes one permit if there is one. Changes `bucket` in place. */
export function takePermit(bucket: Bucket, policy: RatePolicy, now_ms: number): RateVerdict {
  const per_ms = policy.per_second / 1000;
  bucket.permits = contentOf(bucket, policy, now_ms);
  bucket.at_ms = Math.max(bucket.at_ms, now_ms);
  const allowed = bucket.permits >= 1;
  if (allowed) bucket.permits -= 1;
  return {
    allowed,
    remaining: Math.floor(bucket.permits),
    retry_after_ms: allowed ? 0 : Math.ceil((1 - bucket.permits) / per_ms),
    reset_ms: Math.ceil((policy.burst - bucket.permits) / per_ms),
  };
}
