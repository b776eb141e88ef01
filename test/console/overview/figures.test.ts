import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { accept, api, newPlayer } from '../events/event-client.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ZONE = 'Europe/Malta';

let service: TestService;
let tenant: TestTenant;
let player_id: string;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  const config = { reporting: { timezone: ZONE } };
  const { status, text } = await api(service, tenant.session_token, '/v1/tenant/config', {
    method: 'PATCH',
    body: { config },
  });
  expect(status, text).toBe(200);
});
afterAll(() => service.close());

const money = { currency: 'EUR' };
const casino = { ...money, game_id: 'g', game_category: 'slots' };
const at = (timestamp: string, event: string, properties: object) => ({
  event,
  player_id,
  timestamp,
  properties,
});

async function get(path: string): Promise<Record<string, unknown>> {
  const { status, text, data } = await api(service, tenant.session_token, path);
  expect(status, text).toBe(200);
  return data;
}

async function seriesOf(metric: string, interval: string, from: string, to: string) {
  const range = `from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const data = await get(`/v1/series?metric=${metric}&interval=${interval}&${range}`);
  expect(data['timezone']).toBe(ZONE);
  return data['points'] as { at: string; value: number }[];
}

/** The days with anything, as [local date, value]. */
const daysOf = async (metric: string) => {
  const points = await seriesOf(metric, 'day', '2026-06-30T22:00:00Z', '2026-07-10T22:00:00Z');
  const dateOf = (time: string) => new Date(Date.parse(time) + 2 * HOUR_MS).toISOString().slice(0, 10);
  expect(points).toHaveLength(10);
  return points.flatMap(({ at: time, value }) => (value === 0 ? [] : [[dateOf(time), value]]));
};

/** The figures, and the totals of players that they add up to. */
const FIGURES = {
  deposits: [['2026-07-02', 5_000]],
  deposits_reversed: [['2026-07-05', 2_000]],
  withdrawals: [['2026-07-03', 900]],
  withdrawals_reversed: [['2026-07-06', 900]],
  wagered: [
    ['2026-07-02', 1_000],
    ['2026-07-04', 150],
  ],
  won: [
    ['2026-07-03', 1_500],
    ['2026-07-04', 200],
  ],
  bonus_wagered: [['2026-07-02', 400]],
  bonus_won: [['2026-07-03', 600]],
  ggr: [
    ['2026-07-02', 1_000],
    ['2026-07-03', -1_500],
    ['2026-07-04', -50],
  ],
  credited: [['2026-07-07', 1_000]],
  debited: [['2026-07-07', 200]],
  ngr: [
    ['2026-07-02', 600],
    ['2026-07-03', -900],
    ['2026-07-04', -50],
    ['2026-07-07', -800],
  ],
} as const;

describe('the figures of feeds', () => {
  it('are on the local days of what counts, and add up to the totals of the player', async () => {
    await accept(
      service,
      tenant,
      // Example 50: already the second in Malta.
      at('2026-07-01T22:30:00Z', 'deposit_confirmed', {
        ...money,
        payment_method: 'card',
        amount: 5_000,
        transaction_id: 'd',
      }),
      at('2026-07-01T23:00:00Z', 'bet_placed', { ...casino, amount: 1_000, bonus_stake: 400, bet_id: 'a' }),
      at('2026-07-03T10:00:00Z', 'bet_settled', {
        ...casino,
        amount: 1_000,
        payout: 1_500,
        bonus_payout: 600,
        bet_id: 'a',
        outcome: 'won',
      }),
      at('2026-07-03T10:00:00Z', 'withdrawal_confirmed', { ...money, amount: 900, transaction_id: 'w' }),
      // A round of three movements, of which one win is taken back.
      at('2026-07-04T10:00:00Z', 'bet_placed', { ...casino, amount: 100, bet_id: 'b', movement_id: '1' }),
      at('2026-07-04T10:01:00Z', 'bet_placed', { ...casino, amount: 50, bet_id: 'b', movement_id: '2' }),
      at('2026-07-04T10:02:00Z', 'bet_won', { ...money, payout: 200, bet_id: 'b', movement_id: '3' }),
    );
    await accept(
      service,
      tenant,
      at('2026-07-04T10:03:00Z', 'bet_won', { ...money, payout: 700, bet_id: 'b', movement_id: '4' }),
      at('2026-07-04T10:00:00Z', 'bet_placed', { ...casino, amount: 77, bet_id: 'c' }),
    );
    await counted(service.platform);
    // What comes later changes rows that ClickHouse has already.
    await accept(
      service,
      tenant,
      at('2026-07-08T10:00:00Z', 'bet_voided', { bet_id: 'b', movement_id: '4' }),
      at('2026-07-08T10:00:00Z', 'bet_voided', { bet_id: 'c' }),
      at('2026-07-05T10:00:00Z', 'deposit_reversed', {
        ...money,
        amount: 2_000,
        transaction_id: 'd',
        reversal_id: 'r',
      }),
      at('2026-07-06T10:00:00Z', 'withdrawal_reversed', {
        ...money,
        amount: 1_000,
        transaction_id: 'w',
        reversal_id: 'r',
      }),
      at('2026-07-07T10:00:00Z', 'balance_credited', {
        ...money,
        amount: 1_000,
        transaction_id: 'c',
        reason: 'cashback',
      }),
      at('2026-07-07T10:00:00Z', 'balance_credited', {
        ...money,
        amount: 500,
        transaction_id: 'k',
        reason: 'correction',
      }),
      at('2026-07-07T10:00:00Z', 'balance_debited', {
        ...money,
        amount: 200,
        transaction_id: 'f',
        reason: 'fee',
      }),
    );
    await counted(service.platform);
    for (const [metric, days] of Object.entries(FIGURES)) expect(await daysOf(metric), metric).toEqual(days);
    const sum = (metric: keyof typeof FIGURES) =>
      FIGURES[metric].reduce((all: number, [, value]) => all + value, 0);
    const overview = await get('/v1/overview?from=2026-06-30T22:00:00Z&to=2026-07-10T22:00:00Z');
    expect(overview).toMatchObject({
      timezone: ZONE,
      now: Object.fromEntries(
        Object.keys(FIGURES).map((metric) => [metric, sum(metric as keyof typeof FIGURES)]),
      ),
    });
    expect(await get(`/v1/players/${player_id}`)).toMatchObject({
      total_deposited: sum('deposits') - sum('deposits_reversed'),
      total_withdrawn: sum('withdrawals') - sum('withdrawals_reversed'),
      total_wagered: sum('wagered'),
      total_won: sum('won'),
      total_bonus_wagered: sum('bonus_wagered'),
      total_bonus_won: sum('bonus_won'),
      total_credited: sum('credited'),
      total_debited: sum('debited'),
      ggr: sum('ggr'),
      ngr: sum('ngr'),
    });
  });
});

describe('the reporting time zone', () => {
  it('cuts hours, days and weeks where its clocks change, too', async () => {
    const spring = await seriesOf('events', 'hour', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z');
    const autumn = await seriesOf('events', 'hour', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z');
    expect([spring.length, autumn.length]).toEqual([23, 25]);
    const days = await seriesOf('events', 'day', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z');
    expect(days.map(({ at: time }) => time)).toEqual([
      '2026-03-27T23:00:00.000Z',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
    const weeks = await seriesOf('events', 'week', '2026-03-25T00:00:00Z', '2026-04-01T00:00:00Z');
    expect(weeks.map(({ at: time }) => time)).toEqual([
      '2026-03-22T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
  });

  it('has today from local midnight, and ends the deposits of 30 days with the local today', async () => {
    const dateIn = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE });
    const now_ms = Date.now();
    // Half past eleven in UTC, which is the next day in Malta.
    const late_ms = Math.floor(now_ms / DAY_MS) * DAY_MS - 2 * DAY_MS - HOUR_MS / 2;
    const late = new Date(late_ms).toISOString();
    await accept(
      service,
      tenant,
      at(late, 'deposit_confirmed', {
        ...money,
        payment_method: 'card',
        amount: 333,
        transaction_id: 'late',
      }),
    );
    await counted(service.platform);
    const days = (await get(`/v1/players/${player_id}/deposits-daily`)) as unknown as Record<
      string,
      unknown
    >[];
    expect(days).toHaveLength(30);
    // Midnight may have passed since.
    expect([dateIn.format(now_ms), dateIn.format(Date.now())]).toContain(days.at(-1)?.['date']);
    expect(days.filter(({ amount }) => amount !== 0)).toEqual([
      { date: dateIn.format(late_ms), amount: 333 },
    ]);
    expect(dateIn.format(late_ms)).not.toBe(late.slice(0, 10));
    const { now } = (await get('/v1/overview')) as { now: { from: string } };
    expect(new Date(now.from).toLocaleTimeString('en-GB', { timeZone: ZONE })).toBe('00:00:00');
    // Days that are counted from today: over the beginning of summer time, and in a chart of their hours.
    const to = encodeURIComponent('2026-03-30T12:00:00+02:00');
    const days_of = (await get(`/v1/overview?days=3&to=${to}`)) as { now: { from: string } };
    expect(days_of.now.from).toBe('2026-03-27T23:00:00.000Z');
    const hours = await get(`/v1/series?metric=ngr&interval=hour&days=2&to=${to}`);
    expect(hours['points']).toHaveLength(23 + 12);
    const both = `/v1/overview?days=3&from=${to}`;
    expect(await api(service, tenant.session_token, both)).toMatchObject({ status: 422 });
  });

  it('of which there is none is refused', async () => {
    for (const timezone of ['Europe/Atlantis', '+02:00', '', 7]) {
      const body = { config: { reporting: { timezone } } };
      const patched = await api(service, tenant.session_token, '/v1/tenant/config', {
        method: 'PATCH',
        body,
      });
      expect(patched).toMatchObject({ status: 422, error: { code: 'VALIDATION_ERROR' } });
    }
  });
});
