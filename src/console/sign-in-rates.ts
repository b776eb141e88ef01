import { networkOf } from '../http/auth/unknown-keys.ts';
import { ApiError } from '../errors.ts';
import type { RateLimiter, RatePolicy } from '../platform/rate-limit/port.ts';

/** Of one network: an office whose people all begin work at once is within it. */
const SIGN_INS: RatePolicy = { name: 'console sign-in', per_second: 10, burst: 200 };
/** A provider that ends the sessions of many users sends them one by one. */
const LOGOUTS: RatePolicy = { name: 'console logout', per_second: 50, burst: 500 };

/** Takes a permit of the address for a request of somebody unknown; `sign_in` or a provider's `logout`. */
export type TakePermit = (kind: 'sign_in' | 'logout', address: string) => Promise<void>;

/** Limits of the routes that anybody may call. The check rejects with RATE_LIMITED. */
export function signInRates(rate_limiter: RateLimiter): TakePermit {
  return async (kind, address) => {
    const policy = kind === 'sign_in' ? SIGN_INS : LOGOUTS;
    const { allowed, retry_after_ms } = await rate_limiter.takeInWindow(policy, networkOf(address));
    if (allowed) return;
    throw new ApiError('RATE_LIMITED', 'too many requests: try again later', {
      retry_after_s: Math.ceil(retry_after_ms / 1000),
    });
  };
}
