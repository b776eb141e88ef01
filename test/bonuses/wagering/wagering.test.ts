import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { Recounter } from '../../../src/bonuses/wagering/recount.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { call, internally } from '../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture, type ShownGrant } from '../grants/grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service);
  await on.config({ grants_per_day: 100 });
});
afterAll(async () => service?.close());

const TABLE = { slots: 100, live: 10, sport: 10, default: 0 };
const progressIs = (amount: number) => (grant: ShownGrant) => grant['wagering_progress'] === amount;

/** A player's active bonus of €10, to be wagered ten times. */
async function active(rest: Body = {}, of = on): Promise<{ id: string; player_id: string }> {
  const template_id = await of.template({ game_contribution: TABLE, ...rest });
  const player_id = await of.player();
  const { status, data } = await of.grant(template_id, player_id);
  expect(status).toBe(201);
  return { id: data.id, player_id };
}

const casino = (amount: number, game_category: string, bet_id = randomUUID()) => ({
  bet_id,
  amount,
  currency: 'EUR',
  game_id: 'g',
  game_category,
});
const sport = (bet_id: string, amount: number) => ({
  bet_id,
  amount,
  currency: 'EUR',
  sport: 'tennis',
  bet_type: 'single',
  odds: '2.0',
  event_ref: 'e',
});

function told(player_id: string, rest: Body = {}) {
  const at = { occurred_at: new Date().toISOString(), revision: 1 };
  const bet = {
    player_id,
    kind: 'casino',
    bet_id: randomUUID(),
    state: 'placed',
    stake: 100,
    currency: 'EUR',
  };
  return { ...bet, game_category: 'slots', ...at, ...rest };
}

/** Sends events in one request. */
async function send(events: Body[], { api_key }: TestTenant = service): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events/batch`, api_key, { body: { events } });
  expect(response.status).toBe(202);
}

const progress = (bets: object[], { tenant_id, project_id }: TestTenant = service) =>
  internally(service, 'bonus-progress', { tenant_id, project_id, bets });

describe('events of bets', () => {
  it('move the progress of the bonus by what their games count', async () => {
    const { id, player_id } = await active();
    const bet_id = randomUUID();
    await on.client.event(player_id, 'bet_placed', casino(500, 'slots', bet_id));
    await on.client.event(player_id, 'bet_settled', {
      ...casino(500, 'slots', bet_id),
      payout: 900,
      outcome: 'won',
    });
    await on.client.event(player_id, 'bet_settled', { ...casino(333, 'live'), payout: 0, outcome: 'lost' });
    await on.client.event(player_id, 'bet_placed', casino(1_000, 'crash'));
    const grant = await on.reached(id, progressIs(533));
    expect(grant).toMatchObject({ progress_source: 'events', wagering_required: 10_000, status: 'active' });
  });

  it('a void at 10 % weight gives back exactly what the bet took', async () => {
    const { id, player_id } = await active();
    await on.client.event(player_id, 'bet_placed', casino(333, 'live'));
    await on.reached(id, progressIs(33));
    const bet_id = randomUUID();
    await on.client.event(player_id, 'sport_bet_placed', sport(bet_id, 777));
    await on.client.event(player_id, 'sport_bet_settled', { bet_id, payout: 0, currency: 'EUR' });
    await on.reached(id, progressIs(111));
    await on.client.event(player_id, 'sport_bet_voided', { bet_id });
    await on.reached(id, progressIs(33));
    const [row] = await on.sql`select wagering_sum::text as sum from bonus_grants where grant_id = ${id}`;
    expect(row?.['sum']).toBe('3330');
  });

  it('of movements count together, until a void or a reopened bet takes them back', async () => {
    const { id, player_id } = await active();
    const bet_id = randomUUID();
    await on.client.event(player_id, 'bet_placed', { ...casino(300, 'slots', bet_id), movement_id: 'a' });
    await on.client.event(player_id, 'bet_placed', { ...casino(200, 'slots', bet_id), movement_id: 'b' });
    await on.reached(id, progressIs(500));
    await on.client.event(player_id, 'bet_voided', { bet_id, movement_id: 'a' });
    await on.reached(id, progressIs(200));
    const ticket = randomUUID();
    const settlement = { bet_id: ticket, payout: 0, currency: 'EUR' };
    await on.client.event(player_id, 'sport_bet_placed', sport(ticket, 1_000));
    await on.client.event(player_id, 'sport_bet_settled', settlement);
    await on.reached(id, progressIs(300));
    await on.client.event(player_id, 'sport_bet_reopened', { bet_id: ticket });
    await on.reached(id, progressIs(200));
    await on.client.event(player_id, 'bet_voided', { bet_id });
    await on.reached(id, progressIs(0));
  });

  it('that came before a credit with an earlier time count, also those before the grant', async () => {
    const on = grantsFixture(service, await service.newTenant());
    const player_id = await on.player();
    const before = new Date(Date.now() - 1_000);
    await on.client.event(player_id, 'bet_placed', casino(200, 'slots'));
    await waitUntilCaughtUp(service.platform, 30_000);
    const adapter = await on.adapter();
    try {
      await adapter.fake.control({ faults: { accept: 1 } });
      const { data, status } = await on.grant(await on.template({ game_contribution: TABLE }), player_id);
      expect([status, data.status]).toEqual([201, 'pending']);
      // Asked about the grant, the platform would report what it has counted: nothing.
      await adapter.fake.control({ answer: { status: 503, body: '', headers: {} } });
      await on.client.event(player_id, 'bet_placed', casino(300, 'slots'));
      await waitUntilCaughtUp(service.platform, 30_000);
      const platform_bonus_id = String(data['platform_bonus_id']);
      const credited = { credited_at: before.toISOString() };
      const answer = await on.event(adapter, 'bonus.credited', data.id, {
        platform_bonus_id,
        data: credited,
      });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      await on.reached(data.id, progressIs(500));

      // From now on the platform's own report counts; ours goes on beside it.
      const wagered = { total_wagered: 4_000 };
      await on.event(adapter, 'bonus.wagered', data.id, { platform_bonus_id, data: wagered });
      expect((await progress([told(player_id)], on.tenant)).data).toMatchObject({ applied: 1 });
      expect(await on.get(data.id)).toMatchObject({ wagering_progress: 4_000, progress_source: 'platform' });
      const [row] =
        await on.sql`select wagering_sum::text as sum from bonus_grants where grant_id = ${data.id}`;
      expect(row?.['sum']).toBe('60000');
    } finally {
      await adapter.close();
    }
  });

  it('of a clock that is ahead count for a bonus that is credited meanwhile', async () => {
    const player_id = await on.player();
    const timestamp = new Date(Date.now() + 60_000).toISOString();
    await send([{ event: 'bet_placed', player_id, timestamp, properties: casino(400, 'slots') }]);
    await waitUntilCaughtUp(service.platform, 30_000);
    const { data } = await on.grant(await on.template({ game_contribution: TABLE }), player_id);
    await on.reached(data.id, progressIs(400));
  });

  it('of a bonus whose terms cannot be read hold up no other bets', async () => {
    const broken = await active();
    await on.sql`
      update bonus_grants set terms = terms || '{"game_contribution": {"slots": 0.5}}' where grant_id = ${broken.id}`;
    const { id, player_id } = await active();
    const properties = casino(300, 'slots');
    await send(
      [broken.player_id, player_id].map((one) => ({
        event: 'bet_placed',
        player_id: one,
        properties: { ...properties, bet_id: randomUUID() },
      })),
    );
    await on.reached(id, progressIs(300));
    const [row] =
      await on.sql`select wagering_sum::text as sum from bonus_grants where grant_id = ${broken.id}`;
    expect(row).toEqual({ sum: '0' });
    await on.sql`delete from bonus_grants where grant_id = ${broken.id}`;
  });

  it('of a player who turns out to be another count for that one', async () => {
    const { id, player_id } = await active();
    const anonymous_id = randomUUID();
    const bet = { event: 'bet_placed', anonymous_id, properties: casino(400, 'slots') };
    expect((await call(`${service.ingest_url}/v1/events`, service.api_key, { body: bet })).status).toBe(202);
    await waitUntilCaughtUp(service.platform, 30_000);
    const ids = { anonymous_id, player_id };
    const merged = await call(`${service.base_url}/v1/players/identify`, service.api_key, { body: ids });
    expect(merged.status).toBe(200);
    await on.reached(id, progressIs(400));
  });
});

describe('POST /v1/internal/bonus-progress', () => {
  it('counts each bet once, by its highest revision', async () => {
    const { id, player_id } = await active();
    const bet = told(player_id, { stake: 700 });
    const sums = { applied: 0, duplicates: 0, ignored: 0, breaches: 0, met: [] };
    const { status, data } = await progress([bet, told(await on.player())]);
    expect({ status, data }).toEqual({ status: 200, data: { ...sums, applied: 1, ignored: 1 } });
    expect((await progress([bet])).data).toEqual({ ...sums, duplicates: 1 });
    expect(await on.get(id)).toMatchObject({ wagering_progress: 700 });
    expect((await progress([{ ...bet, state: 'voided', revision: 3 }])).data).toEqual({
      ...sums,
      applied: 1,
    });
    expect((await progress([{ ...bet, revision: 2 }])).data).toEqual({ ...sums, duplicates: 1 });
    expect(await on.get(id)).toMatchObject({ wagering_progress: 0 });
    const last = await progress([told(player_id, { stake: 9_999 }), told(player_id, { stake: 1 })]);
    expect(last.data).toEqual({ ...sums, applied: 2, met: [id] });
    // The built-in sandbox leaves it to the service to say when the wagering is met.
    expect(await on.get(id)).toMatchObject({ wagering_progress: 10_000, status: 'completed' });
    expect((await progress(Array.from({ length: 1_001 }, () => bet))).status).toBe(422);
    expect((await progress([{ ...bet, stake: -1 }])).status).toBe(422);
    // As long as those of events.
    const long = told(player_id, { bet_id: 'b'.repeat(256), game_id: 'g'.repeat(1_024) });
    expect((await progress([long])).status).toBe(200);
    expect((await progress([{ ...long, bet_id: 'b'.repeat(257) }])).status).toBe(422);
  });

  it('finds stakes above the limit; a bonus whose terms say so is cancelled', async () => {
    const flagged = await active({ max_bet_during_wagering: 500 });
    const bet = told(flagged.player_id, { stake: 501 });
    expect((await progress([bet, told(flagged.player_id, { stake: 500 })])).data).toMatchObject({
      breaches: 1,
    });
    expect(await on.get(flagged.id)).toMatchObject({
      wagering_progress: 500,
      max_bet_breaches: 1,
      status: 'active',
    });
    await progress([{ ...bet, state: 'voided', revision: 2 }]);
    expect(await on.get(flagged.id)).toMatchObject({ wagering_progress: 500, max_bet_breaches: 0 });

    const strict = await active({ max_bet_during_wagering: 500, max_bet_action: 'forfeit' });
    await progress([told(strict.player_id, { stake: 501 })]);
    const ended = await on.reached(strict.id, ({ status }) => status === 'cancelled');
    expect(ended).toMatchObject({ status_reason: 'max_bet_breached', max_bet_breaches: 1 });
  });

  it('converts by the rate at the time of the bet, once there is one', async () => {
    const { tenant_id } = service;
    const { id, player_id } = await active();
    const occurred_at = '2031-05-05T12:00:00.000Z';
    const bet = told(player_id, { stake: 999, currency: 'USD', occurred_at });
    await on.sql`delete from fx_rates where tenant_id = ${tenant_id}`;
    expect((await progress([bet])).data).toMatchObject({ applied: 1 });
    expect(await on.get(id)).toMatchObject({ wagering_progress: 0 });
    await on.sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate) values (${tenant_id}, 'EUR', 'USD', '2031-05-05', 2)`;
    await new Recounter(service.platform).turn();
    // 999 ÷ 2 is 499.5, and half goes to even.
    expect(await on.get(id)).toMatchObject({ wagering_progress: 500 });
  });

  it('refuses projects and currencies that do not exist', async () => {
    const { player_id } = await active();
    const none = { ...service, project_id: randomUUID() };
    expect((await progress([told(player_id)], none)).status).toBe(404);
    expect((await progress([told(player_id, { currency: 'XXX' })])).status).toBe(422);
  });

  it('completes a bonus once winnings say what its wagering is', async () => {
    const own = grantsFixture(service, await service.newTenant());
    const adapter = await own.adapter({ capabilities: { completion: 'service' } });
    const config = { count: 10, value_per_spin: 100, currency: 'EUR', eligible_games: ['g'] };
    try {
      const spins = { type: 'free_spins', config, wagering_basis: 'winnings' };
      const { id, player_id } = await active(spins, own);
      await progress([told(player_id, { stake: 5_000 })], own.tenant);
      expect(await own.get(id)).toMatchObject({ wagering_required: 0, status: 'active' });
      const { platform_bonus_id } = await own.get(id);
      const data = { winnings: 500 };
      const answer = await own.event(adapter, 'bonus.credited', id, { platform_bonus_id, data });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      expect(await own.reached(id, ({ status }) => status === 'completed')).toMatchObject({
        wagering_required: 5_000,
        wagering_progress: 5_000,
      });
    } finally {
      await adapter.close();
    }
  });

  it('completes a bonus only when its adapter leaves that to the service', async () => {
    const own = grantsFixture(service, await service.newTenant());
    const capabilities = { completion: 'service' };
    const adapter = await own.adapter({ capabilities });
    try {
      const { id, player_id } = await active({}, own);
      const bet = told(player_id, { stake: 10_000 });
      expect((await progress([bet], own.tenant)).data).toMatchObject({ met: [id] });
      const grant = await own.get(id);
      expect(grant).toMatchObject({
        status: 'completed',
        wagering_progress: 10_000,
        progress_source: 'events',
      });
      expect(grant.history.at(-1)).toMatchObject({ event: 'bonus.completed', source: 'api' });
    } finally {
      await adapter.close();
    }
  });
});
