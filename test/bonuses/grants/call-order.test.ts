import { describe, expect, it } from 'vitest';
import type { BonusPlatform, GrantOrder } from '../../../src/adapters/platform.ts';
import type { GrantVerdict } from '../../../src/bonuses/grants/admission.ts';
import { callPlatform } from '../../../src/bonuses/grants/calls.ts';
import type { GrantRow } from '../../../src/bonuses/grants/grant-row.ts';
import { GRANT_LANES } from '../../../src/bonuses/grants/sender.ts';
import { Lanes } from '../../../src/platform/call-queue/lanes.ts';

/** A pending grant of which only what decides about calls is there. */
const grant = (rest: Partial<GrantRow>) =>
  ({
    grant_id: '00000000-0000-4000-8000-000000000001',
    status: 'pending',
    outcome: 'sent',
    may_be_sent: false,
    cancel_requested_at: null,
    facts: {},
    order_body: '{}',
    attempts: 1,
    calls: 1,
    ...rest,
  }) as GrantRow;

/** A platform that has nothing, and notes what it is asked. */
function platform(asked: string[]): BonusPlatform {
  return {
    status: () => {
      asked.push('status');
      return Promise.resolve({ kind: 'missing' });
    },
    grant: async ({ mayDepart }: GrantOrder) => {
      if ((await mayDepart()) === undefined) return { kind: 'held' };
      asked.push('grant');
      return { kind: 'credited', platform_bonus_id: 'pb' };
    },
  } as unknown as BonusPlatform;
}

const clock = { now_ms: () => 0 };

describe('the look at a player', () => {
  it.each([
    [false, ['look', 'grant']],
    [true, ['status', 'look', 'grant']],
  ])('is the last before a grant is sent; may_be_sent: %s', async (may_be_sent, order) => {
    const asked: string[] = [];
    const look = (): Promise<GrantVerdict> => {
      asked.push('look');
      return Promise.resolve({ kind: 'may', by_ms: Infinity });
    };
    await callPlatform({ clock, platform: platform(asked) }, grant({ may_be_sent }), look);
    expect(asked).toEqual(order);
  });

  it.each([
    [{ kind: 'barred', reason: 'SELF_EXCLUDED' }, 'cancel_barred'],
    [{ kind: 'behind' }, 'retry'],
    [{ kind: 'paused' }, 'retry'],
  ] as const)('stops a grant that the platform did not know: %o', async (verdict, kind) => {
    const asked: string[] = [];
    const deps = { clock, platform: platform(asked) };
    const conclusion = await callPlatform(deps, grant({ may_be_sent: true }), () => Promise.resolve(verdict));
    expect(conclusion.kind).toBe(kind);
    expect(asked).toEqual(['status']);
  });
});

it('every lane has its turn, however many are always due', () => {
  const lane = (adapter_slug: string) => ({ tenant_id: 't', project_id: 'p', adapter_slug });
  const lanes = ['a', 'b', 'c', 'd'].map(lane);
  const orderAfter = (slug?: string) => {
    const places = new Lanes(GRANT_LANES);
    if (slug !== undefined) places.grant([lane(slug)], 0);
    return places.grant(lanes, 0).map(({ adapter_slug }) => adapter_slug);
  };
  expect(orderAfter()).toEqual(['a', 'b', 'c', 'd']);
  // Who was given no place for the longest time is first.
  expect(orderAfter('b')).toEqual(['a', 'c', 'd', 'b']);
  expect(orderAfter('d')).toEqual(['a', 'b', 'c', 'd']);
  expect(orderAfter('gone')).toEqual(['a', 'b', 'c', 'd']);
});

it('a lane has its turn among those that share its tenant, also while lanes of others are served in between', () => {
  const lane = (tenant_id: string, adapter_slug: string) => ({ tenant_id, project_id: 'p', adapter_slug });
  const lanes = new Lanes(GRANT_LANES);
  const begin = (one: { places: number } & ReturnType<typeof lane>) => {
    for (let n = 0; n < one.places; n++) lanes.begin(one);
  };
  // Four lanes fill the share of their tenant; a fifth one waits.
  const busy = ['a', 'b', 'c', 'd'].map((slug) => lane('t', slug));
  const waits = lane('t', 'e');
  for (const one of lanes.grant(busy, 0)) begin(one);
  expect(lanes.grant([...busy, waits], 0)).toEqual([]);
  let turns = 0;
  while (turns++ < 10) {
    for (const other of lanes.grant([lane('u', 'x')], 0)) {
      begin({ ...other, places: 1 });
      lanes.end(other, 'answered', 0);
    }
    lanes.end(busy[1]!, 'answered', 0);
    const [given] = lanes.grant([...busy, waits], 0);
    if (given === undefined) throw new Error('a place was free');
    begin(given);
    if (given.adapter_slug === 'e') break;
  }
  expect(turns).toBe(1);
});

it('a tenant has no more than its share of the places, a lane no more than its platform takes', () => {
  const lane = (tenant_id: string, project_id: string, most = 1_000) => ({
    tenant_id,
    project_id,
    adapter_slug: 'casino',
    most,
  });
  const places = new Lanes(GRANT_LANES);
  const freeOf = (one: ReturnType<typeof lane>) => places.grant([one], 0)[0]?.places ?? 0;
  const fill = (one: ReturnType<typeof lane>) => {
    const free = freeOf(one);
    for (let n = 0; n < free; n++) places.begin(one);
    return free;
  };
  expect(fill(lane('a', 'slow', 3))).toBe(3);
  const of_a = Array.from({ length: 10 }, (_, n) => fill(lane('a', `p${n}`)));
  expect(of_a).toEqual([16, 16, 16, 13, 0, 0, 0, 0, 0, 0]);
  expect(fill(lane('b', 'p'))).toBe(16);
  places.end(lane('a', 'p0'), 'answered', 0);
  expect(freeOf(lane('a', 'p9'))).toBe(1);
});
