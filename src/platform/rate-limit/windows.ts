import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedCache } from '../bounded-cache.ts';
import type { RatePolicy, RateVerdict } from './port.ts';

/** Of each policy, in this process. The library itself keeps every key until its window ends. */
const MAX_KEYS = 10_000;

/** The store that processes share, and what is known of it. */
export interface SharedStore {
  redis: Redis;
  /** Whether the store does not answer, so that it is not asked. */
  isAway(): boolean;
  /** Called when a request was counted by this process alone. */
  onAlone(): void;
}

interface Limiter {
  alone: RateLimiterMemory;
  shared: RateLimiterRedis | undefined;
}

/**
 * Counts requests in fixed windows: in the store, if there is one, otherwise in this process. While the store does not
 * answer, each process counts alone, and its windows begin empty.
 */
export class Windows {
  readonly #store: SharedStore | undefined;
  /** By policy. */
  readonly #limiters = new Map<string, Limiter>();

  constructor(store?: SharedStore) {
    this.#store = store;
  }

  /** Counts one request; see the port. */
  async take(policy: RatePolicy, key: string): Promise<RateVerdict> {
    const { alone, shared } = this.#limiterOf(policy);
    const limiter = this.#store?.isAway() === true ? alone : (shared ?? alone);
    try {
      const { remainingPoints: remaining, msBeforeNext: reset_ms } = await limiter.consume(key);
      return { allowed: true, remaining, retry_after_ms: 0, reset_ms };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const until_ms = Math.max(1, error.msBeforeNext);
      return { allowed: false, remaining: 0, retry_after_ms: until_ms, reset_ms: until_ms };
    }
  }

  #limiterOf({ name, burst, per_second }: RatePolicy): Limiter {
    // The library's windows have whole seconds.
    const duration = Math.ceil(burst / per_second);
    const id = `${name}:${burst}:${duration}`;
    let limiter = this.#limiters.get(id);
    if (limiter === undefined) {
      const options = { keyPrefix: `window:${name}`, points: burst, duration };
      this.#limiters.set(id, (limiter = createLimiter(options, this.#store)));
    }
    return limiter;
  }
}

interface LimiterOptions {
  keyPrefix: string;
  points: number;
  /** In seconds. */
  duration: number;
}

function createLimiter(options: LimiterOptions, store: SharedStore | undefined): Limiter {
  const alone = new BoundedLimiter(options, () => store?.onAlone());
  if (store === undefined) return { alone, shared: undefined };
  const shared = new RateLimiterRedis({
    ...options,
    storeClient: store.redis,
    // Until the window ends, this process refuses a key that has used it up without asking Redis.
    inMemoryBlockOnConsumed: options.points,
    insuranceLimiter: alone,
  });
  return { alone, shared };
}

/** The library's windows in memory, of the {@link MAX_KEYS} keys that were used last. The window of another begins again. */
class BoundedLimiter extends RateLimiterMemory {
  readonly #keys = new BoundedCache<string | number, true>({
    max: MAX_KEYS,
    dispose: (_, key) => void this.delete(key),
  });
  readonly #onConsume: () => void;

  constructor(options: LimiterOptions, onConsume: () => void) {
    super(options);
    this.#onConsume = onConsume;
  }

  override consume(...args: Parameters<RateLimiterMemory['consume']>): Promise<RateLimiterRes> {
    this.#keys.set(args[0], true);
    this.#onConsume();
    return super.consume(...args);
  }
}
