/** A token bucket: `burst` permits at most, refilled at `per_second` (spec part 8). */
export interface RatePolicy {
  /** Short name, part of the key: 'ingest', 'identify', 'admin'. */
  name: string;
  per_second: number;
  burst: number;
}

export interface RateVerdict {
  allowed: boolean;
  /** Permits left in the bucket, a whole number. */
  remaining: number;
  /** Until one permit is free (when refused), in milliseconds. */
  retry_after_ms: number;
  /** Until the bucket is full again, in milliseconds. */
  reset_ms: number;
}

export interface RateLimiter {
  /**
   * Takes one permit. Answers at once while local knowledge suffices, so the hot path allocates no promise.
   * When the shared store is out of reach it decides locally (and logs so): it never rejects.
   */
  take(policy: RatePolicy, key: string): RateVerdict | Promise<RateVerdict>;
  close(): Promise<void>;
}
