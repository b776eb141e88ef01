import type { RatePolicy, RateVerdict } from './port.ts';

/** The first block is this share of a bucket, so that what idle processes hold does not matter. */
const SMALLEST_SHARE = 0.01;
/** Blocks grow with the demand up to this share, */
const LARGEST_SHARE = 0.15;
/** and no further than this, unless the first is larger: the store is asked 7 times per thousand permits then. */
const ENOUGH = 150;
/** After an empty answer the store is left alone for a while between these, unless a single permit takes longer. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** A few requests in a moment do not make a rate. */
const SETTLED_MS = 100;
/** A block unspent for this long goes back to the store. */
const LEASE_MS = 1_000;
const RENEW_BELOW = 0.25;
/** Smaller blocks are not asked for ahead: a few processes would hold a good part of such a bucket. */
const SMALLEST_AHEAD = 10;

/** What the store answered: the permits it gave, and the content of the bucket afterwards. */
export interface Grant {
  granted: number;
  permits_left: number;
}

/**
 * The permits one process holds of one bucket. A process that sees a request now and then holds few; one that spends
 * them fast leases about as many as it spends while a lease lasts. Pure: every call is told the time.
 */
export class Lease {
  readonly policy: RatePolicy;
  readonly #smallest: number;
  readonly #largest: number;
  #held = 0;
  #expires_ms = 0;
  /** Until then the store is known to have nothing to give. */
  #empty_until_ms = 0;
  /** Content of the shared bucket as last heard. */
  #shared = 0;
  /** When the store answered last; undefined: never. */
  #answered_ms: number | undefined;
  /** Permits spent since. */
  #spent = 0;
  /** Whether the store had less than was asked for. */
  #short = false;
  /** When the store was found empty last (at first: asked at all), and the permits it gave since. */
  #empty_ms: number | undefined;
  #got = 0;

  constructor(policy: RatePolicy) {
    this.policy = policy;
    this.#smallest = Math.max(1, Math.floor(policy.burst * SMALLEST_SHARE));
    this.#largest = Math.max(this.#smallest, Math.min(ENOUGH, Math.floor(policy.burst * LARGEST_SHARE)));
  }

  /** How many permits to ask for: about as many as are spent while a lease lasts. */
  block(now_ms: number): number {
    // After a pause there is about one large block: with room for more, one call takes all of it.
    if (this.#short) return this.#largest * 2;
    const wanted = Math.floor(this.#spendingPerMs(now_ms) * LEASE_MS);
    return Math.min(this.#largest, Math.max(this.#smallest, wanted));
  }

  /** The verdict, if it can be told without the store. */
  take(now_ms: number): RateVerdict | undefined {
    if (this.#held > 0 && now_ms < this.#expires_ms) {
      this.#held -= 1;
      this.#spent += 1;
      return this.#verdict(true, now_ms);
    }
    return now_ms < this.#empty_until_ms ? this.#verdict(false, now_ms) : undefined;
  }

  /** True when more should be asked for before what is held runs out. */
  isLow(now_ms: number): boolean {
    // Most of the time plenty is held: no block has to be computed to know that.
    if (this.#held >= this.#largest * RENEW_BELOW || now_ms < this.#empty_until_ms) return false;
    const block = this.block(now_ms);
    return block >= SMALLEST_AHEAD && this.#held < block * RENEW_BELOW;
  }

  /** Adds what the store gave for `wanted` permits. */
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

  /**
   * How long until a bucket found empty has a large block for this process again, whose share of what flows in is what
   * it got in the `elapsed_ms` since the bucket was empty last.
   */
  #pauseMs(elapsed_ms: number): number {
    const refill_per_ms = this.#refillPerMs();
    // A few permits flow in soon, or are not worth a longer pause.
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

  #verdict(allowed: boolean, now_ms: number): RateVerdict {
    const per_ms = this.#refillPerMs();
    const refilled = this.#shared + (now_ms - (this.#answered_ms ?? now_ms)) * per_ms;
    const permits = allowed ? Math.min(this.policy.burst, refilled + this.#held) : 0;
    return {
      allowed,
      remaining: Math.floor(permits),
      retry_after_ms: allowed ? 0 : Math.max(1, Math.ceil(this.#empty_until_ms - now_ms)),
      reset_ms: Math.ceil((this.policy.burst - permits) / per_ms),
    };
  }
}
