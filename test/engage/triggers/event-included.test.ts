import { afterAll, beforeAll, expect, it } from 'vitest';
import { setKycModel, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import type { Body } from '../messaging/messaging-client.ts';
import { counted, everybody, group, triggerFixture, type TriggerFixture } from './trigger-fixture.ts';

let service: TestService;
let on: TriggerFixture;
beforeAll(async () => {
  service = await sharedService();
  await setKycModel(service, service);
  on = triggerFixture(service);
});
afterAll(async () => service?.close());

const STRATEGIES = [
  ['realtime', { refresh_strategy: 'realtime' }],
  ['scheduled', { refresh_strategy: 'scheduled', refresh_interval_minutes: 60 }],
  ['manual', { refresh_strategy: 'manual' }],
] as const;
const TEN = Array.from({ length: 10 }, (_, i) => i);

it.each(STRATEGIES)('signup greets ten of ten new players (%s segment)', async (_strategy, rest) => {
  const campaign = await on.arm('signup', await on.segment(everybody, rest));
  await Promise.all(
    TEN.map(async () => {
      await on.event(await on.person(), 'signup');
    }),
  );
  expect(await on.messages(campaign, 10)).toHaveLength(10);
});

it.each(STRATEGIES)('the first deposit thanks ten of ten players (%s segment)', async (_strategy, rest) => {
  const definition = group(counted('deposit_confirmed', 'eq', 1));
  const campaign = await on.arm('deposit_confirmed', await on.segment(definition, rest));
  await Promise.all(
    TEN.map(async () => {
      await on.deposit(await on.person());
    }),
  );
  expect(await on.messages(campaign, 10)).toHaveLength(10);
});

/** Segments that a player enters by the second `custom_step` with a deposit of 5,000 before it. */
const ENTERED_BY_THE_SECOND: [string, (f: TriggerFixture) => Promise<Body> | Body][] = [
  ['a count in a window', () => group(counted('custom_step', 'gte', 2, { window: { last: { days: 1 } } }))],
  [
    'a sequence',
    () =>
      group({
        type: 'sequence',
        steps: [{ event: 'login' }, { event: 'custom_step', where: [{ property: 'n', op: 'eq', value: 2 }] }],
      }),
  ],
  [
    'a member of another segment',
    async (f) => {
      const inner = await f.segment(group(counted('custom_step', 'gte', 2)), { refresh_strategy: 'manual' });
      return group({ type: 'segment', segment_id: inner, op: 'in' });
    },
  ],
  [
    'no member of another segment, two levels deep',
    async (f) => {
      const manual = { refresh_strategy: 'manual' };
      const inner = await f.segment(group(counted('custom_step', 'lt', 2)), manual);
      const middle = await f.segment(group({ type: 'segment', segment_id: inner, op: 'in' }), manual);
      return group(
        { type: 'segment', segment_id: middle, op: 'not_in' },
        { type: 'segment', segment_id: inner, op: 'not_in' },
      );
    },
  ],
  [
    'the last time of an event',
    () =>
      group({
        type: 'event',
        event: 'custom_step',
        aggregate: 'max',
        property: 'n',
        op: 'gte',
        value: 2,
      }),
  ],
];

it.each(ENTERED_BY_THE_SECOND)('an event that makes its player a member fires: %s', async (_what, define) => {
  const campaign = await on.arm('custom_step', await on.segment(await define(on)), {
    body: 'step {{context.n}}',
  });
  const player_id = await on.person();
  await on.event(player_id, 'login');
  await on.event(player_id, 'custom_step', { n: 1 });
  expect((await on.decided(campaign, 1)).map(({ outcome }) => outcome)).toEqual(['refused']);
  await on.event(player_id, 'custom_step', { n: 2 });
  const messages = await on.messages(campaign, 1);
  expect(messages.map(({ body }) => body)).toEqual(['step 2']);
});

it('totals and traits are those after the event', async () => {
  const rich = group({ type: 'trait', field: 'total_deposited', op: 'gte', value: 10_000 });
  const excluded = group({ type: 'trait', field: 'kyc_level', op: 'gte', value: 2 });
  const [by_total, by_trait] = [
    await on.arm('deposit_confirmed', await on.segment(rich)),
    await on.arm('kyc_approved', await on.segment(excluded, { refresh_strategy: 'manual' })),
  ];
  const player_id = await on.person();
  await on.deposit(player_id);
  expect((await on.decided(by_total, 1)).map(({ outcome }) => outcome)).toEqual(['refused']);
  await on.deposit(player_id);
  await on.event(player_id, 'kyc_approved', { level: 2 });
  expect(await on.messages(by_total, 1)).toHaveLength(1);
  expect(await on.messages(by_trait, 1)).toHaveLength(1);
});

it('an event that takes its player out of the segment does not fire', async () => {
  const poor = group({ type: 'trait', field: 'total_deposited', op: 'lt', value: 10_000 });
  const [campaign, watch] = [
    await on.arm('deposit_confirmed', await on.segment(poor)),
    await on.arm('deposit_confirmed', null),
  ];
  const player_id = await on.person();
  await on.deposit(player_id);
  expect(await on.messages(campaign, 1)).toHaveLength(1);
  await on.deposit(player_id);
  expect(await on.messages(watch, 2)).toHaveLength(2);
  expect((await on.decided(campaign, 2)).map(({ outcome }) => outcome)).toEqual(['fired', 'refused']);
  expect(await on.client.recipients(campaign.campaign_id)).toHaveLength(1);
});

it('without a segment every player is messaged', async () => {
  const campaign = await on.arm('deposit_confirmed', null, { body: 'paid {{context.amount}}' });
  await on.deposit(await on.person());
  expect((await on.messages(campaign, 1)).map(({ body }) => body)).toEqual(['paid 5000']);
});
