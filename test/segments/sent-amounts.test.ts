import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendBatch } from '../engines/http-client.ts';
import { until } from '../engines/until.ts';
import { group, openSegmentFixture, type Body, type SegmentFixture } from './segment-fixture.ts';

let on: SegmentFixture;
beforeAll(async () => {
  on = await openSegmentFixture();
});
afterAll(() => on?.service.close());

const SENT: Readonly<Record<string, { event: string; properties: Body }>> = {
  number: { event: 'bonus_claimed', properties: { amount: 500 } },
  digits: { event: 'bonus_claimed', properties: { amount: '1000' } },
  money: { event: 'bonus_claimed', properties: { amount: 700, currency: 'KRW' } },
  foreign: { event: 'bonus_claimed', properties: { amount: 1_200, currency: 'USD' } },
  base: { event: 'bonus_claimed', properties: { amount: 800, currency: 'EUR' } },
  limit: { event: 'deposit_limit_set', properties: { amount: 500 } },
  failed: { event: 'withdrawal_failed', properties: { amount: 500 } },
  'failed, with a reference': {
    event: 'withdrawal_failed',
    properties: { amount: 500, currency: 'EUR', transaction_id: 'failed-1' },
  },
  jackpot: { event: 'custom_jackpot_won', properties: { payout: 12.5 } },
  text: { event: 'custom_jackpot_won', properties: { payout: 'much', amount: -3 } },
};

const REALTIME = { refresh_strategy: 'realtime' };
const of = (aggregate: string, event: string, property: string | undefined, op: string, value: unknown) => ({
  type: 'event',
  event,
  aggregate,
  ...(property === undefined ? {} : { property }),
  op,
  value,
});
const where = (event: string, property: string, op: string, value: number) => ({
  ...of('count', event, undefined, 'gte', 1),
  where: [{ property, op, value }],
});

it('amounts of events that are not in the ledger count in the base currency, without a currency as they were sent', async () => {
  const rate = { base: 'EUR', quote: 'USD', rate: '2' };
  expect((await on.api('POST', '/v1/currencies/rates', rate)).status).toBe(201);
  const cases: [Body, string[]][] = [
    [of('sum', 'bonus_claimed', 'amount', 'gte', 500), ['number', 'digits', 'foreign', 'base']],
    [of('max', 'bonus_claimed', 'amount', 'gt', 500), ['digits', 'foreign', 'base']],
    [of('avg', 'bonus_claimed', 'amount', 'lt', 1_000), ['number', 'foreign', 'base']],
    [of('distinct', 'bonus_claimed', 'amount', 'eq', 1), ['number', 'digits', 'foreign', 'base']],
    [where('bonus_claimed', 'amount', 'gt', 0), ['number', 'digits', 'foreign', 'base']],
    [where('bonus_claimed', 'amount', 'eq', 600), ['foreign']],
    [where('deposit_limit_set', 'amount', 'eq', 500), ['limit']],
    [where('withdrawal_failed', 'amount', 'eq', 500), ['failed', 'failed, with a reference']],
    [of('sum', 'custom_jackpot_won', 'payout', 'eq', 12.5), ['jackpot']],
    [of('min', 'custom_jackpot_won', 'amount', 'lt', 0), ['text']],
  ];
  const segments: string[] = [];
  for (const [condition] of cases) segments.push(await on.make(group(condition), REALTIME));
  const people: Record<string, string> = {};
  for (const name of Object.keys(SENT)) people[name] = await on.person();
  const events = Object.entries(SENT).map(([name, event]) => ({ ...event, player_id: people[name] }));
  const { data, text } = await sendBatch(on.service, on.service, events);
  expect(data['accepted'], text).toBe(events.length);
  await on.caughtUp();
  for (const [i, [condition, names]] of cases.entries()) {
    const wanted = names.map((name) => people[name] ?? '').sort();
    // By the events of each player, and by those of all.
    for (const player_id of wanted) {
      await until('the player enters', async (saw) =>
        saw(await on.segmentsOf(player_id)).includes(segments[i] ?? ''),
      );
    }
    const path = `/v1/segments/${segments[i]}`;
    expect((await on.api('POST', `${path}/refresh`)).status).toBe(200);
    const members = (await on.api('GET', `${path}/sample?limit=100`)).data as unknown as string[];
    expect(members.sort(), JSON.stringify(condition)).toEqual(wanted);
  }
});
