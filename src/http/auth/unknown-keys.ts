import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { RateLimiter, RatePolicy } from '../../platform/rate-limit/port.ts';

const MAX_REFUSALS = 10_000;
const REFUSAL_TTL_MS = 5_000;
const MAX_ADDRESSES = 10_000;
/** An address that asks for so many unknown keys within a minute counts as guessing until the minute ends. */
const GUESSES: RatePolicy = { name: 'unknown keys', per_second: 0.5, burst: 30 };
/** An IPv6 client usually has all addresses of a /64: its first four groups. */
const IPV6_GROUPS = 4;

/** Public ids that name no key, and the addresses that asked for them. Both are bounded: the oldest are forgotten. */
export class UnknownKeys {
  #clock: Clock;
  #rate_limiter: RateLimiter;
  /** Each with the time until which it is refused without a query. */
  #refusals = new BoundedCache<string, number>({ max: MAX_REFUSALS });
  /** Networks that count as guessing, each with the time until which it does. */
  #guessing = new BoundedCache<string, number>({ max: MAX_ADDRESSES });

  constructor(clock: Clock, rate_limiter: RateLimiter) {
    this.#clock = clock;
    this.#rate_limiter = rate_limiter;
  }

  /** Whether the id was found to name no key within the last 5 s. */
  has(public_id: string): boolean {
    const until_ms = this.#refusals.get(public_id);
    return until_ms !== undefined && until_ms > this.#clock.now_ms();
  }

  /** Notes that the id names no key, and that this address asked for it. */
  async add(public_id: string, address: string): Promise<void> {
    this.#refusals.set(public_id, this.#clock.now_ms() + REFUSAL_TTL_MS);
    const network = networkOf(address);
    const { remaining, reset_ms } = await this.#rate_limiter.takeInWindow(GUESSES, network);
    if (remaining === 0) this.#guessing.set(network, this.#clock.now_ms() + reset_ms);
  }

  /** Whether this address has asked for so many unknown keys that it counts as guessing. */
  isGuessing(address: string): boolean {
    const until_ms = this.#guessing.get(networkOf(address));
    return until_ms !== undefined && until_ms > this.#clock.now_ms();
  }

  /** Forgets that the id names no key. */
  forget(public_id: string): void {
    this.#refusals.delete(public_id);
  }

  /** Forgets every id; the addresses stay. */
  forgetAll(): void {
    this.#refusals.clear();
  }
}

/** What of an address belongs to one client: all of IPv4, the /64 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  // `::` stands for so many zeros that there are eight groups; zeros after the fourth group do not matter.
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array<string>(zeros).fill('0'), ...after].slice(0, IPV6_GROUPS).join(':');
}
