import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics.ts';
import type { Notifications } from '../../../src/platform/postgres/notifications.ts';
import {
  TENANTS_CHANNEL,
  TenantCapabilityCache,
  type TenantCapability,
} from '../../../src/tenants/config/capability-cache.ts';

/** One load that waits for the answer of Postgres. */
interface Load {
  tenant_id: string;
  answer(base_currency: string): void;
  fail(error: Error): void;
}

let now_ms: number;
let loads: Load[];
let metrics: Metrics;
let cache: TenantCapabilityCache;
let heard: { onPayload: (payload: string) => void; onReset: () => void };

beforeEach(async () => {
  now_ms = 1_000_000;
  loads = [];
  const load = (tenant_id: string) =>
    new Promise<TenantCapability>((resolve, reject) => {
      loads.push({ tenant_id, answer: (currency) => resolve(capability(currency)), fail: reject });
    });
  metrics = createMetrics();
  const clock = { now_ms: () => now_ms };
  cache = new TenantCapabilityCache({ load, clock, logger: createLogger('silent'), metrics });
  const notifications: Notifications = {
    on: async (channel, onPayload, onReset) => {
      expect(channel).toBe(TENANTS_CHANNEL);
      heard = { onPayload, onReset };
    },
    notify: () => Promise.reject(new Error('the cache tells nobody')),
  };
  await cache.follow(notifications);
});

function capability(base_currency: string): TenantCapability {
  return {
    base_currency,
    currencies: new Set([base_currency]),
    license_jurisdiction: null,
    verticals: [],
    kyc_model: 'none',
    config: {},
  };
}

/** The answer of the cache, and whether it was cached. */
async function known(tenant_id = 'a'): Promise<string> {
  const answer = cache.get(tenant_id);
  const { base_currency } = await answer;
  return answer instanceof Promise ? `asked for ${base_currency}` : `knew ${base_currency}`;
}

/** Gets the capability, lets Postgres answer, and returns the result. */
async function ask(currency: string, tenant_id = 'a'): Promise<string> {
  const answer = known(tenant_id);
  loads.at(-1)?.answer(currency);
  return answer;
}

describe('a cached capability', () => {
  it('is loaded once for all concurrent callers, and cached from then on', async () => {
    const waiting = [known(), known(), known()];
    loads[0]?.answer('EUR');
    expect(await Promise.all(waiting)).toEqual(Array(3).fill('asked for EUR'));
    expect(await known()).toBe('knew EUR');
    expect(loads).toHaveLength(1);
  });

  it('belongs to one tenant', async () => {
    await ask('EUR', 'a');
    expect(await ask('SEK', 'b')).toBe('asked for SEK');
    expect([await known('a'), await known('b')]).toEqual(['knew EUR', 'knew SEK']);
  });

  it('expires 30 s after its load began', async () => {
    const slow = known();
    now_ms += 10_000;
    loads[0]?.answer('EUR');
    await slow;
    now_ms += 19_999;
    expect(await known()).toBe('knew EUR');
    now_ms += 1;
    expect(await ask('SEK')).toBe('asked for SEK');
  });

  it('is not stored after a failed load', async () => {
    const failing = known();
    loads[0]?.fail(new Error('away'));
    await expect(failing).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { message: 'away' } });
    expect(await ask('EUR')).toBe('asked for EUR');
  });
});

describe.each([
  ['an eviction', () => cache.evict('a')],
  ['a notification', () => heard.onPayload('a')],
  ['listening again', () => heard.onReset()],
])('%s', (_what, forget) => {
  it('makes the next call load', async () => {
    await ask('EUR');
    forget();
    expect(await ask('SEK')).toBe('asked for SEK');
    expect(await known()).toBe('knew SEK');
  });

  it('keeps a load that began before it out of the cache', async () => {
    const before = known();
    forget();
    loads[0]?.answer('OLD');
    expect(await before).toBe('asked for OLD');
    expect(await ask('NEW')).toBe('asked for NEW');
    expect(await known()).toBe('knew NEW');
  });

  it('starts a new load for later calls, even if an earlier load is still running', async () => {
    const before = known();
    forget();
    const after = known();
    const [first, second] = loads;
    second?.answer('NEW');
    expect(await after).toBe('asked for NEW');
    first?.answer('OLD');
    expect(await before).toBe('asked for OLD');
    expect(await known()).toBe('knew NEW');
  });

  it('is not undone by the failure of an earlier load', async () => {
    const before = known();
    forget();
    const after = known();
    loads[0]?.fail(new Error('away'));
    await expect(before).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { message: 'away' } });
    const beside = known();
    loads[1]?.answer('NEW');
    expect(await Promise.all([after, beside])).toEqual(['asked for NEW', 'asked for NEW']);
    expect(loads).toHaveLength(2);
  });
});

describe('while Postgres does not answer', () => {
  const stale = async () => (await metrics.staleAnswers.get()).values[0]?.value ?? 0;
  /** Gets the capability, which Postgres cannot give. */
  const fail = async (tenant_id = 'a') => {
    const answer = known(tenant_id);
    loads.at(-1)?.fail(new Error('away'));
    return answer;
  };

  it('what is known is used, without waiting for each attempt, until 15 minutes after its load', async () => {
    await ask('EUR');
    now_ms += 30_000;
    expect(await fail()).toBe('asked for EUR');
    expect(await known()).toBe('knew EUR');
    expect(loads).toHaveLength(2);
    expect(await stale()).toBe(2);
    now_ms += 15 * 60_000 - 30_001;
    expect(await known()).toBe('knew EUR');
    loads.at(-1)?.fail(new Error('away'));
    now_ms += 1;
    await expect(fail()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('it is asked once a second, whatever number of tenants is used', async () => {
    const tenants = Array.from({ length: 50 }, (_, i) => `tenant ${i}`);
    for (const tenant_id of tenants) await ask('EUR', tenant_id);
    now_ms += 30_000;
    await fail('tenant 0');
    for (let second = 1; second <= 3; second++) {
      now_ms += 1_000;
      for (const tenant_id of tenants) expect(await known(tenant_id)).toBe('knew EUR');
      expect(loads).toHaveLength(51 + second);
      loads.at(-1)?.fail(new Error('away'));
      await setImmediate();
    }
  });

  it('callers wait 1 s for a load that hangs, and once only', async () => {
    await ask('EUR');
    now_ms += 30_000;
    expect(await known()).toBe('asked for EUR');
    expect(await known()).toBe('knew EUR');
    expect(loads).toHaveLength(2);
    loads[1]?.answer('SEK');
    expect(await known()).toBe('knew EUR');
    expect(await known()).toBe('knew SEK');
  });

  it.each([
    ['a notification', () => heard.onPayload('a')],
    ['listening again', () => heard.onReset()],
  ])('%s makes it ask, and drops nothing', async (_what, forget) => {
    await ask('EUR');
    forget();
    expect(await fail()).toBe('asked for EUR');
    now_ms += 1_000;
    forget();
    expect(await known()).toBe('knew EUR');
  });

  it('once it answers, everything that was known before is loaded again', async () => {
    await ask('EUR', 'a');
    now_ms += 20_000;
    await ask('EUR', 'b');
    now_ms += 10_000;
    await fail('a');
    now_ms += 1_000;
    expect(await known('a')).toBe('knew EUR');
    loads.at(-1)?.answer('SEK');
    await expect.poll(() => known('a')).toBe('knew SEK');
    // This entry has not expired by its age, but a notification may have been missed.
    expect(await ask('SEK', 'b')).toBe('asked for SEK');
  });
});

it('a change of one tenant leaves the others cached', async () => {
  await ask('EUR', 'a');
  await ask('SEK', 'b');
  heard.onPayload('a');
  expect(await known('b')).toBe('knew SEK');
});
