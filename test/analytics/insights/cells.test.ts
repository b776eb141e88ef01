import { afterAll, beforeAll, expect, it } from 'vitest';
import { accept, api, newPlayer } from '../../console/events/event-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { ask, column } from './insight-client.ts';

let service: TestService;
let tenant: TestTenant;
let ann: string;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  ann = await newPlayer(service, tenant, { external_id: 'ann' });
});
afterAll(() => service.close());

const DAY_MS = 86_400_000;
const at = (at_ms: number, event: string, properties: object) => ({
  event,
  player_id: ann,
  timestamp: new Date(at_ms).toISOString(),
  properties: { currency: 'EUR', ...properties },
});
const casino = (bet_id: string, amount: number, payout: number) => ({
  bet_id,
  game_id: 'book',
  game_category: 'slots',
  amount,
  payout,
  outcome: payout > 0 ? 'won' : 'lost',
});

it('with a breakdown, deductions are rounded in each group, and the total adds the groups', async () => {
  const sport = { bet_id: 's', sport: 'tennis', bet_type: 'single', odds: '2', event_ref: 'm', amount: 1 };
  const noon_ms = Date.parse('2026-07-01T12:00:00Z');
  await accept(
    service,
    tenant,
    at(noon_ms, 'bet_settled', casino('c', 1, 0)),
    at(noon_ms, 'sport_bet_placed', sport),
    at(noon_ms, 'sport_bet_settled', { bet_id: 's', payout: 0 }),
  );
  await counted(service.platform);
  const reporting = { deductions: [{ name: 'Duty', basis: 'ggr', bp: 5_000 }] };
  const { status, text } = await api(service, tenant.session_token, '/v1/tenant/config', {
    method: 'PATCH',
    body: { config: { reporting } },
  });
  expect(status, text).toBe(200);
  const query = {
    kind: 'trend',
    range: { from: '2026-07-01T00:00:00Z', to: '2026-07-02T00:00:00Z' },
    series: [{ metric: 'ngr' }, { metric: 'deductions' }],
  };
  const by_product = await ask(service, tenant, { ...query, breakdown: { by: 'product' }, compare: 'week' });
  expect(column(by_product, by_product.rows, 'ngr')).toEqual([1, 1]);
  expect(column(by_product, by_product.totals, 'ngr')).toEqual([2, 1, 1]);
  expect(column(by_product, by_product.totals, 'deductions.0')).toEqual([0, 0, 0]);
  const first = await ask(service, tenant, { ...query, breakdown: { by: 'product', top: 1 } });
  expect(column(first, first.totals, 'ngr')).toEqual([2, 1]);
  expect(column(first, first.other, 'ngr')).toEqual([1, 1]);
  // Without groups the day is one cell: half of 2 is 1.
  const plain = await ask(service, tenant, query);
  expect(column(plain, plain.totals, 'ngr')).toEqual([1]);
});

it('no rate and no mean has an interval that is not over, also over the range', async () => {
  const today_ms = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const yesterday_ms = today_ms - DAY_MS / 2;
  const score = (at_ms: number, points: number) => at(at_ms, 'custom_score', { points, level: 'a' });
  await accept(
    service,
    tenant,
    at(yesterday_ms, 'bet_settled', casino('y', 100, 40)),
    at(today_ms, 'bet_settled', casino('t', 100, 1_000)),
    score(yesterday_ms, 2),
    score(yesterday_ms, 5),
    score(today_ms, 90),
  );
  await counted(service.platform);
  const points = (aggregate: string) => ({ event: 'custom_score', aggregate, property: 'points' });
  const query = {
    kind: 'trend',
    range: { last: { days: 2 } },
    series: [
      { metric: 'hold' },
      { metric: 'ggr' },
      points('avg'),
      points('sum'),
      { event: 'custom_score', aggregate: 'count' },
    ],
    ratio: [1, 4],
    compare: 'week',
  };
  const hold = { numerator: 60, denominator: 100 };
  const per_score = { numerator: 60, denominator: 2 };
  const nothing = { numerator: 0, denominator: 0 };
  const answer = await ask(service, tenant, query);
  const whole = [hold, -840, 3.5, 97, 3, per_score, nothing, 0, null, 0, 0, nothing];
  expect(answer.rows.map((row) => row.slice(1))).toEqual([
    [true, hold, 60, 3.5, 7, 2, per_score, nothing, 0, null, 0, 0, nothing],
    [false, null, -900, null, 90, 1, null, nothing, 0, null, 0, 0, nothing],
  ]);
  expect(answer.totals.map((row) => row.slice(1))).toEqual([[false, ...whole]]);
  const grouped = await ask(service, tenant, {
    ...query,
    series: [{ metric: 'hold' }, { metric: 'arpu' }],
    ratio: undefined,
    compare: undefined,
    breakdown: { by: 'product', top: 1 },
  });
  expect(column(grouped, grouped.totals, 'hold')).toEqual([hold, hold]);
  expect(column(grouped, grouped.other, 'hold')).toEqual([nothing, null, nothing]);
  expect(column(grouped, grouped.totals, 'arpu')[1]).toEqual({ numerator: 30, denominator: 1 });
  const of_today = await ask(service, tenant, {
    kind: 'trend',
    range: { last: { days: 1 } },
    series: [{ metric: 'hold' }],
  });
  expect(column(of_today, [...of_today.rows, ...of_today.totals], 'hold')).toEqual([null, null]);
});
