import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { accept, api, depositOf, member, newPlayer } from '../events/event-client.ts';

let service: TestService;
let other: TestTenant;
let empty: TestTenant;
let from: string;
let to: string;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Beyond 2^53, so that a double would lose its last digit. */
const LARGE = 9_007_199_254_740_993n;

const bet = { currency: 'EUR', game_id: 'g', game_category: 'slots' };

beforeAll(async () => {
  service = await sharedService();
  other = await service.newTenant('SEK');
  empty = await service.newTenant();
  const [ann, bob] = await Promise.all(
    ['ann', 'bob'].map((external_id) => newPlayer(service, service, { external_id })),
  );
  if (ann === undefined || bob === undefined) throw new Error('no players');
  const now_ms = Date.now();
  const now = new Date(now_ms - 1_000).toISOString();
  const before = new Date(now_ms - 7 * DAY_MS - 1_000).toISOString();
  from = new Date(now_ms - HOUR_MS).toISOString();
  to = new Date(now_ms + 60_000).toISOString();
  const at = (timestamp: string, event: string, player_id: string, properties: object) => ({
    event,
    player_id,
    timestamp,
    properties,
  });
  await accept(
    service,
    service,
    { ...depositOf(ann, 'd1', 0, { amount: String(LARGE) }), timestamp: now },
    { ...depositOf(bob, 'd2', 300), timestamp: now },
    { ...depositOf(bob, 'd3', 500), timestamp: before },
    at(now, 'withdrawal_confirmed', ann, { amount: 70, currency: 'EUR', transaction_id: 'w1' }),
    at(now, 'bet_placed', ann, { ...bet, amount: 200, bet_id: 'b1' }),
    // One bet, settled under two names: its payout counts once, and the stake of the settlement not at all.
    at(now, 'bet_won', ann, { bet_id: 'b1', payout: 500, currency: 'EUR' }),
    at(now, 'bet_settled', ann, { ...bet, amount: 200, payout: 500, bet_id: 'b1', outcome: 'won' }),
    // A bet whose placement was never sent.
    at(now, 'bet_settled', ann, { ...bet, amount: 50, payout: 0, bet_id: 'b2', outcome: 'lost' }),
    at(now, 'sport_bet_placed', ann, {
      amount: 1_000,
      currency: 'EUR',
      bet_id: 's1',
      sport: 'tennis',
      bet_type: 'single',
      odds: '2',
      event_ref: 'm',
    }),
    at(now, 'sport_bet_voided', ann, { bet_id: 's1' }),
    at(now, 'signup', ann, {}),
  );
  const stranger = await newPlayer(service, other, { external_id: 'stranger' });
  await accept(service, other, {
    ...depositOf(stranger, 'd1', 77, { currency: 'SEK' }),
    timestamp: now,
  });
  await service.platform.postgres.service`
    update players set self_excluded = true, status = 'self_excluded' where player_id = ${bob}`;
  await counted(service.platform);
});
afterAll(() => service.close());

const overviewOf = (tenant: { session_token: string }, query: string) =>
  api(service, tenant.session_token, `/v1/overview${query}`);

describe('GET /v1/overview', () => {
  it('has exact amounts of the range and of the week before, in one call', async () => {
    const { status, text, data } = await overviewOf(service, `?from=${from}&to=${to}`);
    expect(status, text).toBe(200);
    expect(text).toContain(`"deposits":${LARGE + 300n}`);
    expect(data['now']).toMatchObject({
      withdrawals: 70,
      wagered: 250,
      won: 500,
      ggr: -250,
      first_time_depositors: 1,
      active_players: 2,
      events: 10,
    });
    expect(data['week_before']).toMatchObject({
      deposits: 500,
      withdrawals: 0,
      ggr: 0,
      first_time_depositors: 1,
      active_players: 1,
    });
    expect(data).toMatchObject({
      base_currency: 'EUR',
      responsible_gaming: { self_excluded: 1, cooling_off: 0, banned: 0 },
      campaigns: { scheduled: 0, sending: 0 },
      grants: { open: 0, liability: 0 },
      pipeline: {
        consumers: [{ name: 'player-fold' }, { name: 'analytics-sink' }],
        dead_letters: { found: 0, is_all: true, newest_at: null },
      },
    });
  });

  it('is computed once for whoever asks within 10 s, per project and range', async () => {
    const query = `?from=${from}&to=${new Date(Date.parse(to) + 1_000).toISOString()}`;
    const [first, second] = await Promise.all([overviewOf(service, query), overviewOf(service, query)]);
    expect(first.data['at']).toBe(second.data['at']);
    expect((await overviewOf(service, query)).text).toBe(first.text);
    const theirs = await overviewOf(other, query);
    expect(theirs.data).toMatchObject({ base_currency: 'SEK', now: { deposits: 77, events: 1 } });
  });

  it('of a project without anything is zeros, for a range of today by default', async () => {
    const { status, data } = await overviewOf(empty, '');
    expect(status).toBe(200);
    const midnight = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString();
    expect((data['now'] as { from: string }).from).toBe(midnight);
    expect(data['now']).toMatchObject({ deposits: 0, ggr: 0, active_players: 0, events: 0 });
    expect(data['messages']).toEqual({ by_status: {}, skipped: {}, failed: {}, blocked_for_protection: 0 });
  });

  it('counts messages by status and code, those blocked for protection apart', async () => {
    const { tenant_id, project_id } = service;
    const enqueued_at = new Date(Date.parse(from) + 1_000).toISOString().replace('T', ' ').replace('Z', '');
    const send = (n: number, status: string, error_code: string | null, revision: number) =>
      JSON.stringify({
        tenant_id,
        project_id,
        player_id: `00000000-0000-4000-8000-00000000000${n}`,
        send_id: `00000000-0000-4000-9000-00000000000${n}`,
        channel: 'email',
        status,
        error_code,
        enqueued_at,
        sent_at: status === 'failed' ? null : enqueued_at,
        opened_at: status === 'opened' ? enqueued_at : null,
        revision,
      });
    const lines = [
      send(1, 'sent', null, 1),
      send(1, 'opened', null, 2),
      send(2, 'failed', 'SKIPPED_SELF_EXCLUDED', 1),
      send(3, 'failed', 'PROVIDER_REJECTED', 1),
    ];
    await service.platform.clickhouse.insertLines('message_sends', lines, 'overview-sends');
    const query = `?from=${from}&to=${new Date(Date.parse(to) + 2_000).toISOString()}`;
    expect((await overviewOf(service, query)).data['messages']).toEqual({
      by_status: { opened: 1, failed: 2 },
      skipped: { SKIPPED_SELF_EXCLUDED: 1 },
      failed: { PROVIDER_REJECTED: 1 },
      blocked_for_protection: 1,
    });
    for (const [metric, sum] of [
      ['messages_sent', 1],
      ['messages_opened', 1],
      ['messages_clicked', 0],
      ['messages_skipped', 1],
    ] as const) {
      expect(await sumOf(metric), metric).toBe(BigInt(sum));
    }
  });
});

/** The exact sum of a series over the hours of the test. */
async function sumOf(metric: string, tenant: { session_token: string } = service): Promise<bigint> {
  const query = `metric=${metric}&interval=hour&from=${from}&to=${to}`;
  const { status, text } = await api(service, tenant.session_token, `/v1/series?${query}`);
  expect(status, text).toBe(200);
  return [...text.matchAll(/"value":(-?\d+)/g)].reduce((sum, [, value = '']) => sum + BigInt(value), 0n);
}

describe('GET /v1/series', () => {
  it.each([
    ['deposits', LARGE + 300n],
    ['withdrawals', 70n],
    ['wagered', 250n],
    ['won', 500n],
    ['ggr', -250n],
    ['active_players', 2n],
    ['first_deposits', 1n],
    ['signups', 1n],
    ['events', 10n],
  ])('%s are exact', async (metric, sum) => {
    expect(await sumOf(metric)).toBe(sum);
    expect(await sumOf(metric, empty)).toBe(0n);
  });

  it('new_players are those that were first known in the range', async () => {
    await expect.poll(() => sumOf('new_players')).toBe(2n);
  });

  it('has a point per interval of UTC, also for those without events', async () => {
    const get = (query: string) => api(service, service.session_token, `/v1/series?${query}`);
    const week = `from=${new Date(Date.now() - 8 * DAY_MS).toISOString()}&to=${to}`;
    const { data } = await get(`metric=deposits&interval=day&${week}`);
    const points = data['points'] as { at: string; value: number }[];
    expect(points.length).toBeGreaterThanOrEqual(9);
    for (const [i, { at }] of points.entries())
      expect(Date.parse(at)).toBe(Date.parse(points[0]?.at ?? '') + i * DAY_MS);
    expect(points.filter(({ value }) => value !== 0)).toHaveLength(2);
    expect(data).toMatchObject({ metric: 'deposits', interval: 'day', currency: 'EUR' });
    const weeks = (await get('metric=events&interval=week')).data['points'] as { at: string }[];
    expect(weeks).toHaveLength(12);
    for (const { at } of weeks) expect(new Date(at).getUTCDay()).toBe(1);
    const named = await get(`metric=events&event=signup&interval=hour&from=${from}&to=${to}`);
    expect(named.data['currency']).toBeNull();
    expect(named.text.match(/"value":1}/g)).toHaveLength(1);
  });
});

it.each([
  '/v1/overview?from=yesterday',
  '/v1/overview?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
  '/v1/overview?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
  '/v1/overview?other=1',
  '/v1/series',
  '/v1/series?metric=nonsense',
  '/v1/series?metric=events&interval=minute',
  '/v1/series?metric=events&interval=hour&from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z',
  '/v1/series?metric=ggr&interval=day&from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z',
  '/v1/series?metric=deposits&event=login',
])('%s is refused', async (path) => {
  expect(await api(service, service.session_token, path)).toMatchObject({
    status: 422,
    error: { code: 'VALIDATION_ERROR' },
  });
});

it('viewers see both; members of other tenants do not', async () => {
  const viewer = await member(service, service.tenant_id, 'viewer');
  for (const path of ['/v1/overview', '/v1/series?metric=events']) {
    expect((await api(service, viewer, path)).status).toBe(200);
    const headers = { 'x-project-id': service.project_id };
    expect((await api(service, other.session_token, path, { headers })).status).toBe(404);
  }
});
