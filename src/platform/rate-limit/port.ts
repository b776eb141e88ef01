/** A token bucket: `burst` permits at most, refilled at `per_second` (spec part 8). */
export interface RatePolicy {
  /** Short name, part of the key: 'ingest', 'identify', 'admin'. */
  name: string;
  per_second: number;
  burst: number;
}

/** The decision on one request, and the state of its bucket afterwards. */
export interface RateVerdict {
  allowed: boolean;
  /** Permits left in the bucket, a whole number. */
  remaining: number;
  /** Milliseconds until one permit is free; 0 when allowed. */
  retry_after_ms: number;
  /** Milliseconds until the bucket is full again. */
  reset_ms: number;
}

/** Token buckets by policy and key. */
export interface RateLimiter {
  /**
   * Takes one permit from the bucket of `policy` and `key`. Returns the verdict itself, not a promise, when it can
   * decide without the shared store, so that the hot path allocates no promise. Never rejects: when the shared store
   * does not answer, it decides locally and logs this.
   */
  take(policy: RatePolicy, key: string): RateVerdict | Promise<RateVerdict>;
  close(): Promise<void>;
}
