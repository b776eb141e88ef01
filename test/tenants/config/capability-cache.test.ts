import { beforeEach, describe, expect, it } from 'vitest';
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
let cache: TenantCapabilityCache;
let heard: { onPayload: (payload: string) => void; onReset: () => void };

beforeEach(async () => {
  now_ms = 1_000_000;
  loads = [];
  const load = (tenant_id: string) =>
    new Promise<TenantCapability>((resolve, reject) => {
      loads.push({ tenant_id, answer: (currency) => resolve(capability(currency)), fail: reject });
    });
  cache = new TenantCapabilityCache(load, { now_ms: () => now_ms });
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
    await expect(failing).rejects.toThrow('away');
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
    await expect(before).rejects.toThrow('away');
    const beside = known();
    loads[1]?.answer('NEW');
    expect(await Promise.all([after, beside])).toEqual(['asked for NEW', 'asked for NEW']);
    expect(loads).toHaveLength(2);
  });
});

it('a change of one tenant leaves the others cached', async () => {
  await ask('EUR', 'a');
  await ask('SEK', 'b');
  heard.onPayload('a');
  expect(await known('b')).toBe('knew SEK');
});
