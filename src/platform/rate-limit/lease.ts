import type { RatePolicy, RateVerdict } from './port.ts';
import { neededOf } from './token-bucket.ts';

/** The first block is this share of a bucket: small, so that the permits held by idle processes do not matter. */
const SMALLEST_SHARE = 0.01;
/** With rising demand, blocks grow up to this share of a bucket. */
const LARGEST_SHARE = 0.15;
/** No block grows beyond this many permits (the first may be larger): about 7 store calls per 1,000 permits. */
const ENOUGH = 150;
/**
 * After the store gave less than was asked for, this process does not ask it for a time between these two, or until one
 * permit has been refilled if that takes longer.
 */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** The spending rate is measured over at least this time: a few requests in a shorter time are not a rate. */
const SETTLED_MS = 100;
/** A lease lasts this long; permits not spent by then are returned to the store. */
const LEASE_MS = 1_000;
/** The next block is requested ahead when less than this share of a block is held. */
const RENEW_BELOW = 0.25;
/** Blocks smaller than this are not requested ahead: a few processes would hold a large part of such a bucket. */
const SMALLEST_AHEAD = 10;

/** The store's answer: the permits it granted, and the content of the bucket afterwards. */
export interface Grant {
  granted: number;
  permits_left: number;
}

/**
 * The permits that one process holds of one bucket. A process with few requests holds few permits; one with many
 * requests leases about as many permits as it spends while a lease lasts. The class reads no clock: each method takes
 * the time as `now_ms`.
 */
export class Lease {
  readonly policy: RatePolicy;
  readonly #smallest: number;
  readonly #largest: number;
  #held = 0;
  #expires_ms = 0;
  /** Until then the store is known to be empty. */
  #empty_until_ms = 0;
  /** Content of the shared bucket at the store's last answer. */
  #shared = 0;
  /** When the store answered last; undefined before its first answer. */
  #answered_ms: number | undefined;
  /** Permits spent since the store's last answer. */
  #spent = 0;
  /** Whether the store granted less than was asked for, at its last answer. */
  #short = false;
  /** When the store was last found empty; before that, when it answered first. */
  #empty_ms: number | undefined;
  /** Permits that the store granted since `#empty_ms`. */
  #got = 0;

  constructor(policy: RatePolicy) {
    this.policy = policy;
    this.#smallest = Math.max(1, Math.floor(policy.burst * SMALLEST_SHARE));
    this.#largest = Math.max(this.#smallest, Math.min(ENOUGH, Math.floor(policy.burst * LARGEST_SHARE)));
  }

  /** How many permits to ask for: about as many as are spent while a lease lasts. */
  block(now_ms: number): number {
    // After a pause the bucket has about one large block for this process; asking for two takes all of it in one call.
    if (this.#short) return this.#largest * 2;
    const wanted = Math.floor(this.#spendingPerMs(now_ms) * LEASE_MS);
    return Math.min(this.#largest, Math.max(this.#smallest, wanted));
  }

  /** Takes `count` permits, all or none. Returns undefined when only the store can decide. */
  take(now_ms: number, count = 1): RateVerdict | undefined {
    const needed = neededOf(this.policy, count);
    if (this.#held >= needed && now_ms < this.#expires_ms) {
      this.#held -= count;
      this.#spent += count;
      return this.#verdict(0, now_ms);
    }
    return now_ms < this.#empty_until_ms ? this.#verdict(needed, now_ms) : undefined;
  }

  /** Whether the next block should be requested now, before the held permits run out. */
  isLow(now_ms: number): boolean {
    // Usually enough permits are held: this check then avoids computing a block.
    if (this.#held >= this.#largest * RENEW_BELOW || now_ms < this.#empty_until_ms) return false;
    const block = this.block(now_ms);
    return block >= SMALLEST_AHEAD && this.#held < block * RENEW_BELOW;
  }

  /** Adds the permits that the store granted when asked for `wanted`. */
  add(grant: Grant, wanted: number, now_ms: number): void {
    this.#held += grant.granted;
    this.#expires_ms = now_ms + LEASE_MS;
    this.#shared = grant.permits_left;
    this.#answered_ms = now_ms;
    this.#spent = 0;
    this.#empty_ms ??= now_ms;
    this.#got += grant.granted;
    this.#short = grant.granted < wanted;
    if (!this.#short) return;
    const until_one_ms = (1 - Math.min(1, grant.permits_left)) / this.#refillPerMs();
    this.#empty_until_ms = now_ms + Math.max(until_one_ms, this.#pauseMs(now_ms - this.#empty_ms));
    this.#empty_ms = now_ms;
    this.#got = 0;
  }

  /**
   * If the lease has expired, gives up the held permits; returns their number, to be returned to the store. It is
   * negative, and due at once, when more were taken than a bucket holds.
   */
  expire(now_ms: number): number {
    return now_ms < this.#expires_ms && this.#held >= 0 ? 0 : this.release();
  }

  /** Gives up all held permits; returns their number, to be returned to the store. */
  release(): number {
    const held = this.#held;
    this.#held = 0;
    return held;
  }

  /**
   * How long until an empty bucket will hold a large block for this process again. This process's share of the refill
   * is estimated from the permits that it got in the `elapsed_ms` since the bucket was last empty.
   */
  #pauseMs(elapsed_ms: number): number {
    const refill_per_ms = this.#refillPerMs();
    // A small block refills soon, or is not worth a longer pause.
    if (this.#largest < SMALLEST_AHEAD) return Math.min(SHORTEST_PAUSE_MS, this.#largest / refill_per_ms);
    const share_per_ms = Math.min(refill_per_ms, this.#got / Math.max(1, elapsed_ms));
    return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, this.#largest / share_per_ms));
  }

  #refillPerMs(): number {
    return this.policy.per_second / 1000;
  }

  #spendingPerMs(now_ms: number): number {
    if (this.#answered_ms === undefined) return 0;
    return this.#spent / Math.max(SETTLED_MS, now_ms - this.#answered_ms);
  }

  /**
   * The most that the bucket can hold, without the permits of this process: its content at the store's last answer, and
   * what has been refilled since. A full bucket before the first answer.
   */
  shared(now_ms: number): number {
    if (this.#answered_ms === undefined) return this.policy.burst;
    const refilled = Math.max(0, now_ms - this.#answered_ms) * this.#refillPerMs();
    return Math.min(this.policy.burst, this.#shared + refilled);
  }

  /** `lacking`: the permits that were asked for and not taken; 0: they were taken. */
  #verdict(lacking: number, now_ms: number): RateVerdict {
    const per_ms = this.#refillPerMs();
    const refilled = this.#answered_ms === undefined ? this.#shared : this.shared(now_ms);
    const known = Math.min(this.policy.burst, refilled + this.#held);
    const permits = lacking === 0 ? known : lacking === 1 ? 0 : Math.min(known, lacking - 1);
    const wait_ms = Math.max(this.#empty_until_ms - now_ms, (lacking - known) / per_ms, 1);
    return {
      allowed: lacking === 0,
      remaining: Math.max(0, Math.floor(permits)),
      retry_after_ms: lacking === 0 ? 0 : Math.ceil(wait_ms),
      reset_ms: Math.ceil((this.policy.burst - permits) / per_ms),
    };
  }
}
