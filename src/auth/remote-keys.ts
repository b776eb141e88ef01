import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../platform/clock.ts';

const FETCH_TIMEOUT_MS = 5_000;
/** At most one fetch in this time for keys we do not know; short, so that a new key works at once. */
const UNKNOWN_KEY_COOLDOWN_MS = 1_000;
/** From this age on, keys are fetched again while requests go on with the ones we have. */
const REFRESH_AGE_MS = 30_000;
/** From this age on, keys have to be fetched before one is trusted: a withdrawn key ends within this time. */
const MAX_KEY_AGE_MS = 60_000;
/** While the provider does not answer, the last keys are used for so long: an outage must not sign everybody out. */
const MAX_OUTAGE_MS = 15 * 60_000;
/** After a fetch that failed, the next one begins this much later, and nobody waits for it. */
const RETRY_AFTER_FAILURE_MS = 5_000;

/** The public keys of an identity provider, fetched from its JWKS address when they are needed and too old. */
export class RemoteKeys {
  /** Fetches when it is asked to (`reload`); how old its keys may be is decided here, by our clock. */
  #set: ReturnType<typeof createRemoteJWKSet>;
  #clock: Clock;
  /** When the last fetch that succeeded began: a key withdrawn before that is not in the set. */
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
   * The key that a token names, for `jwtVerify`. Rejects with JWKSNoMatchingKey where the provider does not publish it,
   * with another error where the provider does not answer and what it said last is too old.
   */
  get: JWTVerifyGetKey = async (header, token) => {
    await this.#keepFresh();
    try {
      return await this.#set(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#isWithin(this.#fetched_at_ms, UNKNOWN_KEY_COOLDOWN_MS)) throw error;
      if (this.#isWithin(this.#failed_at_ms, UNKNOWN_KEY_COOLDOWN_MS)) throw this.#failure;
      await this.#fetch();
      return this.#set(header, token);
    }
  };

  /** Until when a token that was just checked need not be checked again, in milliseconds since the epoch. */
  recheck_at_ms(): number {
    const fresh_until_ms = this.#fetched_at_ms + MAX_KEY_AGE_MS;
    const now_ms = this.#clock.now_ms();
    return fresh_until_ms > now_ms ? fresh_until_ms : now_ms + RETRY_AFTER_FAILURE_MS;
  }

  async #keepFresh(): Promise<void> {
    if (this.#isWithin(this.#fetched_at_ms, REFRESH_AGE_MS)) return;
    const isFresh = this.#isWithin(this.#fetched_at_ms, MAX_KEY_AGE_MS);
    const isUsable = this.#isWithin(this.#fetched_at_ms, MAX_OUTAGE_MS);
    const isOutage = this.#isWithin(this.#failed_at_ms, MAX_KEY_AGE_MS);
    if (isFresh || (isUsable && isOutage)) {
      // What this rejects with is noted as the last failure.
      if (!this.#isWithin(this.#failed_at_ms, RETRY_AFTER_FAILURE_MS)) this.#fetch().catch(() => undefined);
      return;
    }
    try {
      await this.#fetch();
    } catch (error) {
      if (!isUsable) throw error;
    }
  }

  /** Requests that need a fetch at the same time share one. */
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

  /** False also where the clock was set back: then nothing is known of the time that has passed. */
  #isWithin(since_ms: number, span_ms: number): boolean {
    const age_ms = this.#clock.now_ms() - since_ms;
    return age_ms >= 0 && age_ms < span_ms;
  }
}
