import type { RatePolicy, RateVerdict } from './port.ts';

/** A block is at most this share of a bucket, so that what idle processes hold does not matter. */
const BLOCK_SHARE = 0.01;
/** After an empty answer the store is left alone for this long, unless a single permit takes longer. */
const SHORTEST_PAUSE_MS = 20;
/** A block unspent for this long goes back to the store. */
const LEASE_MS = 1_000;
const RENEW_BELOW = 0.5;
/** Smaller blocks are not asked for ahead: a few processes would hold a good part of such a bucket. */
const SMALLEST_AHEAD = 10;

/** What the store answered: the permits it gave, and the content of the bucket afterwards. */
export interface Grant {
  granted: number;
  permits_left: number;
}

/** The permits one process holds of one bucket. Pure: every call is told the time. */
export class Lease {
  readonly policy: RatePolicy;
  readonly block: number;
  #held = 0;
  #expires_ms = 0;
  /** Until then the store is known to have nothing to give. */
  #empty_until_ms = 0;
  /** Content of the shared bucket as last heard. */
  #shared = 0;
  #shared_at_ms = 0;

  constructor(policy: RatePolicy) {
    this.policy = policy;
    this.block = Math.max(1, Math.floor(policy.burst * BLOCK_SHARE));
  }

  /** The verdict, if it can be told without the store. */
  take(now_ms: number): RateVerdict | undefined {
    if (this.#held > 0 && now_ms < this.#expires_ms) {
      this.#held -= 1;
      return this.#verdict(true, now_ms);
    }
    return now_ms < this.#empty_until_ms ? this.#verdict(false, now_ms) : undefined;
  }

  /** True when more should be asked for before what is held runs out. */
  isLow(now_ms: number): boolean {
    if (this.block < SMALLEST_AHEAD || now_ms < this.#empty_until_ms) return false;
    return this.#held < this.block * RENEW_BELOW;
  }

  /** Adds what the store gave for `wanted` permits. */
  add(grant: Grant, wanted: number, now_ms: number): void {
    this.#held += grant.granted;
    this.#expires_ms = now_ms + LEASE_MS;
    this.#shared = grant.permits_left;
    this.#shared_at_ms = now_ms;
    if (grant.granted >= wanted) return;
    const per_ms = this.policy.per_second / 1000;
    const until_one_ms = (1 - Math.min(1, grant.permits_left)) / per_ms;
    const until_block_ms = this.block / per_ms;
    this.#empty_until_ms = now_ms + Math.max(until_one_ms, Math.min(SHORTEST_PAUSE_MS, until_block_ms));
  }

  /** Gives up what has not been spent in time; returns how many permits that are. */
  expire(now_ms: number): number {
    return now_ms < this.#expires_ms ? 0 : this.release();
  }

  /** Gives up everything held; returns how many permits that are. */
  release(): number {
    const held = this.#held;
    this.#held = 0;
    return held;
  }

  #verdict(allowed: boolean, now_ms: number): RateVerdict {
    const per_ms = this.policy.per_second / 1000;
    const refilled = this.#shared + (now_ms - this.#shared_at_ms) * per_ms;
    const permits = allowed ? Math.min(this.policy.burst, refilled + this.#held) : 0;
    return {
      allowed,
      remaining: Math.floor(permits),
      retry_after_ms: allowed ? 0 : Math.max(1, Math.ceil(this.#empty_until_ms - now_ms)),
      reset_ms: Math.ceil((this.policy.burst - permits) / per_ms),
    };
  }
}
