/** `burst` permits at most, refilled at `per_second` (spec part 8). */
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
  /** Milliseconds until the permits that were asked for are free; 0 when allowed. */
  retry_after_ms: number;
  /** Milliseconds until the bucket is full again. */
  reset_ms: number;
}

/** Token buckets and windows, by policy and key. They have nothing in common: a policy belongs to one of the two. */
export interface RateLimiter {
  /**
   * Takes `count` permits (1 when absent) from the bucket of `policy` and `key`, all or none. More than `burst` are taken
   * from a full bucket, which then owes the rest until it is refilled. Returns the verdict itself, not a promise, when it can
   * decide without the shared store, so that the hot path allocates no promise. Never rejects: when the shared store
   * does not answer, it decides locally and logs this.
   */
  take(policy: RatePolicy, key: string, count?: number): RateVerdict | Promise<RateVerdict>;
  /**
   * Takes one permit of a window. A window begins with its first request and has all permits at once: `burst`, for as many
   * seconds as they take to be refilled (a whole number). So it costs the shared store a call for each permit, and up to
   * twice the burst is allowed around the end of a window: for limits on single callers, not for the hot path. Never
   * rejects: when the shared store does not answer, this process counts alone.
   */
  takeInWindow(policy: RatePolicy, key: string): Promise<RateVerdict>;
  close(): Promise<void>;
}
