import { createRemoteJWKSet, errors, type CryptoKey, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../platform/clock.ts';

const FETCH_TIMEOUT_MS = 5_000;
/** Unknown keys cause at most one fetch in this time. It is short, so that a new key works at once. */
const UNKNOWN_KEY_COOLDOWN_MS = 1_000;
/** When the keys are this old, they are fetched again in the background; requests use the old keys meanwhile. */
const REFRESH_AGE_MS = 30_000;
/** When the keys are this old, a request waits for new ones: a withdrawn key is refused after at most this time. */
const MAX_KEY_AGE_MS = 60_000;
/** While the provider does not answer, the last keys are used for this long: an outage must not sign all users out. */
const MAX_OUTAGE_MS = 15 * 60_000;
/** The next fetch after a failed one begins this much later; until then requests do not wait for the provider. */
const RETRY_AFTER_FAILURE_MS = 5_000;

/** A public key, and the time at which tokens checked with it must be checked again, in ms since the epoch. */
export interface FoundKey {
  key: CryptoKey;
  /** Absent: the key is never withdrawn. */
  recheck_at_ms?: number;
}

/** Finds the key that a token names by its header. */
export type GetKey = (...token: Parameters<JWTVerifyGetKey>) => Promise<FoundKey>;

/** The public keys of an identity provider. They are fetched from its JWKS address when needed and too old. */
export class RemoteKeys {
  /** Fetches only when `reload` is called; this class decides by its own clock how old the keys may be. */
  #set: ReturnType<typeof createRemoteJWKSet>;
  #clock: Clock;
  /** When the last successful fetch began: a key withdrawn before that time is not in the set. */
  #fetched_at_ms = -Infinity;
  #failed_at_ms = -Infinity;
  #failure: unknown;
  #fetching: Promise<void> | undefined;

  constructor(url: URL, clock: Clock) {
    this.#clock = clock;
    this.#set = createRemoteJWKSet(url, {
      timeoutDuration: FETCH_TIMEOUT_MS,
      cooldownDuration: Infinity,
      cacheMaxAge: Infinity,
    });
  }

  /**
   * Returns the key that a token names. Rejects with JWKSNoMatchingKey when the provider does not publish that key, and
   * with another error when the provider does not answer and the last keys are too old or do not contain it.
   */
  get: GetKey = async (header, token) => {
    await this.#keepFresh();
    try {
      return await this.#find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#isWithin(this.#fetched_at_ms, UNKNOWN_KEY_COOLDOWN_MS)) throw error;
      if (this.#isWithin(this.#failed_at_ms, UNKNOWN_KEY_COOLDOWN_MS)) throw this.#failure;
      await this.#fetch();
      return this.#find(header, token);
    }
  };

  async #find(...wanted: Parameters<GetKey>): Promise<FoundKey> {
    // Computed before the look-up: a fetch that ends during it must not extend the trust in a key of the older set.
    const recheck_at_ms = this.#recheckAt();
    return { key: await this.#set(...wanted), recheck_at_ms };
  }

  #recheckAt(): number {
    const fresh_until_ms = this.#fetched_at_ms + MAX_KEY_AGE_MS;
    const now_ms = this.#clock.now_ms();
    return fresh_until_ms > now_ms ? fresh_until_ms : now_ms + RETRY_AFTER_FAILURE_MS;
  }

  async #keepFresh(): Promise<void> {
    if (this.#isWithin(this.#fetched_at_ms, REFRESH_AGE_MS)) return;
    const isUsable = this.#isWithin(this.#fetched_at_ms, MAX_OUTAGE_MS);
    if (this.#isWithin(this.#failed_at_ms, RETRY_AFTER_FAILURE_MS)) {
      if (isUsable) return;
      throw this.#failure;
    }
    const fetched = this.#fetch();
    if (this.#isWithin(this.#fetched_at_ms, MAX_KEY_AGE_MS)) {
      // Not awaited. `#reload` stores the error as the last failure.
      fetched.catch(() => undefined);
      return;
    }
    try {
      await fetched;
    } catch (error) {
      if (!isUsable) throw error;
    }
  }

  /** Concurrent requests share one fetch. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#reload().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #reload(): Promise<void> {
    const began_at_ms = this.#clock.now_ms();
    try {
      await this.#set.reload();
      this.#fetched_at_ms = began_at_ms;
    } catch (error) {
      this.#failed_at_ms = this.#clock.now_ms();
      this.#failure = error;
      throw error;
    }
  }

  /** Whether `since_ms` is less than `span_ms` ago. False when the clock was set back: the elapsed time is unknown. */
  #isWithin(since_ms: number, span_ms: number): boolean {
    const age_ms = this.#clock.now_ms() - since_ms;
    return age_ms >= 0 && age_ms < span_ms;
  }
}
