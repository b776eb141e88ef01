import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { smallestRateEffect } from '../../../src/platform/statistics/smallest-effect.ts';
import { group, openSegmentFixture, trait, within, type SegmentFixture } from '../segment-fixture.ts';

let fixture: SegmentFixture;
beforeAll(async () => {
  fixture = await openSegmentFixture();
});
afterAll(() => fixture.service.close());

const DAY_MS = 86_400_000;

const backtest = (definition: object, as_of_ms: number, horizon_days = 30) =>
  fixture.api('POST', '/v1/segments/backtest', {
    definition,
    as_of: new Date(as_of_ms).toISOString(),
    horizon_days,
  });

describe('POST /v1/segments/backtest', () => {
  it('says who was a member, how many deposited after it, and what they brought', async () => {
    const { clickhouse } = fixture.service.platform;
    const { tenant_id, project_id } = fixture.service;
    const project = { tenant_id, project_id };
    const now_ms = Date.now();
    const as_of_ms = now_ms - 60 * DAY_MS;
    const ids = Array.from({ length: 40 }, () => randomUUID());
    const at = (day: number) => as_of_ms + day * DAY_MS;
    const rows = ids.map((player_id) =>
      JSON.stringify({ ...project, player_id, created_at: at(-90), custom_attributes: '{}', revision: 1 }),
    );
    const event = (
      player_id: string | undefined,
      name: string,
      occurred: number,
      received: number,
      row: object,
    ) =>
      JSON.stringify({
        ...project,
        player_id,
        event: name,
        occurred_at: at(occurred),
        received_at: at(received),
        ingestion_id: randomUUID(),
        event_index: 0,
        properties: {},
        revision: 1,
        ...row,
      });
    const money = { base_amount: 500, stake_counted: 500 };
    const events = [
      // Thirty deposited before as_of; that of one more was received after it.
      ...ids.slice(0, 30).map((id) => event(id, 'deposit_confirmed', -5, -5, money)),
      event(ids[30], 'deposit_confirmed', -5, 1, money),
      // Of the thirty, six deposit in the 30 days after it, one of them twice, and one on day 31.
      ...ids.slice(0, 6).map((id) => event(id, 'deposit_confirmed', 10, 10, money)),
      event(ids[0], 'deposit_confirmed', 20, 20, money),
      event(ids[7], 'deposit_confirmed', 31, 31, money),
      event(ids[35], 'deposit_confirmed', 10, 10, money),
      event(ids[1], 'bet_placed', 12, 12, { stake_counted: 900 }),
      event(ids[1], 'bet_won', 12, 12, { payout_counted: 200 }),
      event(ids[2], 'balance_credited', 12, 12, { stake_counted: 50 }),
      event(ids[2], 'bet_placed', 40, 40, { stake_counted: 10_000 }),
    ];
    await clickhouse.insertLines('players', rows, randomUUID());
    await clickhouse.insertLines('events', events, randomUUID());
    const definition = group(trait('total_deposited', 'gte', 500));
    const answer = await backtest(definition, as_of_ms);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.data).toEqual({
      as_of: new Date(as_of_ms).toISOString(),
      horizon_days: 30,
      is_over: true,
      members: 30,
      base_rate: { numerator: 6, denominator: 30 },
      ngr_per_head: { numerator: 650, denominator: 30 },
      smallest_visible_effect: [
        {
          held_out_percent: 5,
          points: expect.closeTo(100 * (smallestRateEffect(0.2, { treated: 28, held_out: 2 }) ?? 0), 3),
        },
        {
          held_out_percent: 10,
          points: expect.closeTo(100 * (smallestRateEffect(0.2, { treated: 27, held_out: 3 }) ?? 0), 3),
        },
      ],
      not_historic: [],
    });
    const unfinished = await backtest(definition, now_ms - 10 * DAY_MS);
    expect(unfinished.data).toMatchObject({
      is_over: false,
      members: 36 - 4,
      base_rate: null,
      ngr_per_head: null,
      smallest_visible_effect: [],
    });
    // Of nobody there is no rate, and no effect.
    const nobody = await backtest(group(trait('total_deposited', 'gt', 9_999_999)), as_of_ms);
    expect(nobody.data).toMatchObject({
      members: 0,
      base_rate: { numerator: 0, denominator: 0 },
      smallest_visible_effect: [],
    });
  });

  it('names the fields of which only the present is known, also those of segments that are referred to', async () => {
    const segment_id = await fixture.make(group(trait('status', 'eq', 'active')));
    const definition = {
      operator: 'OR',
      conditions: [
        group(
          trait('custom_attributes.vip', 'exists'),
          trait('ggr', 'gt', 0),
          trait('last_seen_at', 'exists'),
        ),
        within(segment_id),
      ],
    };
    const { data } = await backtest(definition, Date.now() - DAY_MS, 1);
    expect(data['not_historic']).toEqual(['custom_attributes.vip', 'last_seen_at', 'status']);
  });

  it.each([
    ['in the future', () => Date.now() + 60_000, 30],
    ['too long ago', () => Date.now() - 801 * DAY_MS, 30],
    ['with a horizon of years', () => Date.now() - DAY_MS, 366],
  ])('refuses a time %s', async (_, at_ms, horizon_days) => {
    const answer = await backtest(group(trait('ggr', 'gt', 0)), at_ms(), horizon_days);
    expect([answer.status, answer.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('refuses what is no definition, and segments that do not exist', async () => {
    for (const definition of [group(trait('balance', 'gt', 0)), group(within(randomUUID()))]) {
      const answer = await backtest(definition, Date.now() - DAY_MS);
      expect([answer.status, answer.error.code]).toEqual([422, 'SEGMENT_DEFINITION_INVALID']);
    }
  });
});
