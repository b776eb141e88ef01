import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recomputePlayers } from '../../../src/players/tiers/apply.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { folded, startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { deposit, placed, session, type Fields, type Sent } from '../identity/operator.ts';
import { DAY_MS, TierClient } from './tier-client.ts';

let service: TestService;
let client: TierClient;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  client = await TierClient.open(service);
});

const known = async (name = 'ann') =>
  (await client.identify({ external_id: name, anonymous_id: name })).player_id;
const stake = (name: string, amount: number) => placed({ anonymous_id: name }, randomUUID(), amount);
const codes = async (player_id: string) =>
  (await client.tierOf(player_id)).history.map(({ from_code, to_code, trigger }) => [
    from_code,
    to_code,
    trigger,
  ]);

describe('a player whose totals cross what a tier requires', () => {
  beforeEach(async () => {
    await client.tier('bronze', 1, 0);
    await client.tier('silver', 2, 1_000);
    await client.tier('gold', 3, 5_000);
  });

  it('has the tier soon after, in one entry however many ranks it jumps, with what met it', async () => {
    const id = await known();
    await client.computes(id, 'bronze');
    await client.send(stake('ann', 6_000));
    const tier = await client.reaches(id, 'gold');
    expect(await codes(id)).toEqual([
      ['bronze', 'gold', 'auto'],
      [null, 'bronze', 'auto'],
    ]);
    expect(tier.history[0]?.context).toEqual({
      met: { lifetime_deposit_subunit: 0, lifetime_wagered_subunit: 6_000, days_active: 0 },
    });
    expect(tier).toMatchObject({ tier_locked: false, tier_demoted_at: null, pending_approval: null });
    expect(tier['tier_promoted_at']).toBe(tier.history[0]?.occurred_at);
    const player = await client.player(id);
    expect(player).toMatchObject({ current_tier_code: 'gold', tier_promoted_at: tier['tier_promoted_at'] });
  });

  it('keeps it when what met it is taken back, though the totals are net', async () => {
    await client.tier('platinum', 4, 0, { requirements: { lifetime_deposit_subunit: 9_000 } });
    const id = await known();
    await client.send(
      placed({ anonymous_id: 'ann' }, 'round', 6_000),
      deposit({ anonymous_id: 'ann' }, 'd', 9_000),
    );
    await client.reaches(id, 'platinum');
    const taken_back = { transaction_id: 'd', reversal_id: 'r', amount: 9_000, currency: 'EUR' };
    await client.fold(
      { event: 'bet_voided', anonymous_id: 'ann', properties: { bet_id: 'round' } },
      { event: 'deposit_reversed', anonymous_id: 'ann', properties: taken_back },
    );
    await client.settled();
    expect(await client.player(id)).toMatchObject({ total_wagered: 0, total_deposited: 0 });
    expect((await client.set(id, {})).data).toMatchObject({ changed: false });
    expect(await client.sweep(0)).toMatchObject({ demoted: 0 });
    expect(await client.tierOf(id)).toMatchObject({ current_tier_code: 'platinum', tier_demoted_at: null });
  });

  it('that is new has a tier that requires nothing by the next sweep, or when somebody computes it', async () => {
    const ann = await known();
    await client.fold(session({ anonymous_id: 'visitor' }));
    const { player_id: visitor } = await client.identify({ anonymous_id: 'visitor' });
    const ben = await known('ben');
    await client.settled();
    for (const id of [ann, visitor, ben]) {
      expect(await client.tierOf(id)).toMatchObject({ current_tier_code: null, history: [] });
    }
    const body = { tenant_id: client.tenant.tenant_id, player_id: ben, trigger: 'auto' };
    expect((await client.internal('/v1/internal/recompute-tier', body)).data).toMatchObject({
      changed: true,
      to_code: 'bronze',
    });
    await client.sweep(0);
    for (const id of [ann, visitor, ben]) expect(await codes(id)).toEqual([[null, 'bronze', 'auto']]);
  });

  it('that is new and whose first event crosses a requirement has the tier soon after', async () => {
    await client.fold(stake('visitor', 1_500));
    const { player_id } = await client.identify({ anonymous_id: 'visitor' });
    await client.reaches(player_id, 'silver');
  });

  it('has a tier that requires two totals only when both fit', async () => {
    const requirements = { lifetime_deposit_subunit: 100, lifetime_wagered_subunit: 100 };
    await client.api('POST', '/v1/vip-tiers', { code: 'both', name: 'Both', rank: 9, requirements });
    const id = await known();
    await client.fold(stake('ann', 150));
    await client.settled();
    await client.computes(id, 'bronze');
    await client.fold(deposit({ anonymous_id: 'ann' }, randomUUID(), 100));
    await client.reaches(id, 'both');
  });

  it('has it also by an amount that was converted late', async () => {
    const id = await known();
    await client.fold(deposit({ anonymous_id: 'ann' }, randomUUID(), 1), {
      event: 'bet_placed',
      anonymous_id: 'ann',
      properties: {
        amount: 9_000,
        currency: 'SEK',
        bet_id: randomUUID(),
        game_id: 'g',
        game_category: 'slots',
      },
    });
    await client.computes(id, 'bronze');
    await service.platform.postgres.service`
      insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${client.tenant.tenant_id}, 'EUR', 'SEK', now() - interval '1 day', 1, 'manual')`;
    await client.reaches(id, 'gold');
  });

  it('keeps what a void takes below the requirement', async () => {
    const id = await known();
    const bet_id = randomUUID();
    const odds = { sport: 'football', bet_type: 'single', odds: '2', event_ref: 'x' };
    const bet = { amount: 1_000, currency: 'EUR', bet_id, ...odds };
    await client.send({ event: 'sport_bet_placed', anonymous_id: 'ann', properties: bet });
    await client.reaches(id, 'silver');
    await client.fold({ event: 'sport_bet_voided', anonymous_id: 'ann', properties: { bet_id } });
    expect((await client.set(id, {})).data).toMatchObject({ changed: false, to_code: 'silver' });
  });

  it('is not promoted while self-excluded, and has what was earned once that ends', async () => {
    const id = await known();
    await client.computes(id, 'bronze');
    await client.fold({ event: 'self_exclusion_set', player_id: id }, stake('ann', 6_000));
    await client.settled();
    const answer = await client.set(id, {});
    expect(answer.data).toMatchObject({ changed: false, to_code: 'bronze', reason: 'self_excluded' });
    await client.send({ event: 'self_exclusion_lifted', player_id: id });
    await client.reaches(id, 'gold');
    await client.api('PATCH', `/v1/players/${id}`, { status: 'banned' });
    await client.tier('platinum', 4, 6_000);
    await client.settled();
    expect((await client.set(id, {})).data).toMatchObject({ changed: false, reason: 'banned' });
    await client.api('PATCH', `/v1/players/${id}`, { status: 'active' });
    await client.reaches(id, 'platinum');
  });

  it('keeps an exclusion and a stake that waited for the computation', async () => {
    const id = await known();
    await client.computes(id, 'bronze');
    await client.settled();
    const { service: sql } = service.platform.postgres;
    await sql.begin(async (tx) => {
      await recomputePlayers(
        tx,
        client.tenant.tenant_id,
        [{ project_id: client.tenant.project_id, player_id: id }],
        Date.now(),
      );
      await tx`update players set tier_pending_code = 'x' where player_id = ${id}`;
      await tx`update player_totals set updated_at = now() where player_id = ${id}`;
      await client.send(stake('ann', 700), { event: 'self_exclusion_set', player_id: id });
      // The fold does.
      await statementWaits(sql, tx);
    });
    await folded(service.platform);
    expect(await client.player(id)).toMatchObject({ status: 'self_excluded', total_wagered: 700 });
  });

  it('gets one entry when many compute at once', async () => {
    const id = await known();
    await client.computes(id, 'bronze');
    const { service: sql } = service.platform.postgres;
    // Totals that no fold has reported, so that nobody has computed the tier yet.
    await sql`update player_totals set total_wagered = 5000 where player_id = ${id}`;
    const { tenant_id } = client.tenant;
    const body = { tenant_id, player_id: id, trigger: 'auto' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        i % 2 === 0 ? client.internal('/v1/internal/recompute-tier', body) : client.set(id, {}),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(answers.filter(({ data }) => data['changed'] === true)).toHaveLength(1);
    expect((await codes(id)).filter(([, to]) => to === 'gold')).toHaveLength(1);
  });
});

describe('a tier set by hand', () => {
  let id: string;
  beforeEach(async () => {
    await client.tier('bronze', 1, 0);
    await client.tier('silver', 2, 1_000);
    await client.tier('gold', 3, 5_000);
    id = await known();
    await client.computes(id, 'bronze');
  });

  it('sticks though its requirements are not met, and rises when more is earned', async () => {
    const { status, data } = await client.set(id, { to_code: 'silver', reason: 'a friend' });
    expect(status).toBe(200);
    expect(data).toEqual({
      player_id: id,
      changed: true,
      from_code: 'bronze',
      to_code: 'silver',
      trigger: 'manual',
      tier_promoted_at: expect.any(String) as string,
    });
    expect((await client.set(id, {})).data).toEqual({
      player_id: id,
      changed: false,
      from_code: 'silver',
      to_code: 'silver',
      trigger: 'auto',
      tier_promoted_at: data['tier_promoted_at'],
      reason: 'requirements',
    });
    const { history } = await client.tierOf(id);
    expect(history[0]).toMatchObject({ trigger: 'manual', from_code: 'bronze', to_code: 'silver' });
    expect(history[0]?.context).toEqual({
      actor: expect.any(String) as string,
      reason: 'a friend',
      lock: false,
    });
    await client.send(stake('ann', 5_000));
    await client.reaches(id, 'gold');
  });

  it('does not rise while it is locked', async () => {
    await client.set(id, { to_code: 'silver', reason: 'too much play', lock: true });
    await client.fold(stake('ann', 9_000));
    await client.settled();
    expect((await client.set(id, {})).data).toMatchObject({ changed: false, reason: 'locked' });
    const same = await client.set(id, { to_code: 'silver', reason: 'over', lock: false });
    expect(same.data).toMatchObject({ changed: false, reason: 'same_tier' });
    // What was earned meanwhile is given at once: no total crosses anything any more.
    await client.reaches(id, 'gold');
    expect((await codes(id)).map(([, to]) => to)).toEqual(['gold', 'silver', 'bronze']);
  });

  it('below what is earned, and not locked, rises with the next sweep', async () => {
    await client.send(stake('ann', 5_000));
    await client.reaches(id, 'gold');
    await client.set(id, { to_code: 'bronze', reason: 'a mistake' });
    await client.settled();
    expect(await client.tierOf(id)).toMatchObject({ current_tier_code: 'bronze' });
    await client.sweep(0);
    expect((await codes(id)).slice(0, 2)).toEqual([
      ['bronze', 'gold', 'auto'],
      ['gold', 'bronze', 'manual'],
    ]);
  });

  it('is refused without a reason, for an unknown tier, for one that is not active, and for a deleted player', async () => {
    await client.tier('old', 7, 0, { is_active: false });
    const refused = async (body: object) => {
      const { status, error } = await client.set(id, body);
      return `${status} ${error.code}`;
    };
    expect(await refused({ to_code: 'gold' })).toBe('422 VALIDATION_ERROR');
    expect(await refused({ to_code: 'gold', reason: ' ' })).toBe('422 VALIDATION_ERROR');
    expect(await refused({ reason: 'x' })).toBe('422 VALIDATION_ERROR');
    expect(await refused({ lock: true })).toBe('422 VALIDATION_ERROR');
    expect(await refused({ to_code: 'nothing', reason: 'x' })).toBe('404 VIP_TIER_NOT_FOUND');
    expect(await refused({ to_code: 'old', reason: 'x' })).toBe('409 VIP_TIER_INACTIVE');
    const nobody = await client.set(randomUUID(), { to_code: 'gold', reason: 'x' });
    expect(`${nobody.status} ${nobody.error.code}`).toBe('404 PLAYER_NOT_FOUND');
    await client.api('DELETE', `/v1/players/${id}`);
    expect(await refused({ to_code: 'gold', reason: 'x' })).toBe('409 CONFLICT');
    expect((await client.set(id, {})).data).toMatchObject({ changed: false, reason: 'deleted' });
  });

  it('is the internal answer, too', async () => {
    const path = '/v1/internal/recompute-tier';
    const { tenant_id } = client.tenant;
    const asked = { tenant_id, player_id: id, trigger: 'auto' };
    expect((await client.internal(path, asked)).data).toMatchObject({ player_id: id, changed: false });
    expect((await client.internal(path, { ...asked, trigger: 'manual' })).status).toBe(422);
    const other = await service.newTenant();
    const foreign = await client.internal(path, { ...asked, tenant_id: other.tenant_id });
    expect(`${foreign.status} ${foreign.error.code}`).toBe('404 PLAYER_NOT_FOUND');
  });
});

describe('inactivity', () => {
  const demotion = { inactivity_days: 30, grace_days: 5 };
  it('takes one rank per full period, and gives it back only after activity', async () => {
    await client.tier('bronze', 1, 0);
    await client.tier('silver', 2, 1_000, { demotion });
    await client.tier('gold', 3, 5_000, { demotion });
    const id = await known();
    await client.send(stake('ann', 5_000));
    await client.reaches(id, 'gold');
    expect(await client.sweep(34)).toMatchObject({ demoted: 0 });
    expect(await client.sweep(36)).toMatchObject({ event: 'tier-sweep-summary', demoted: 1, failed: 0 });
    expect(await client.sweep(36)).toMatchObject({ checked: 0 });
    expect(await client.tierOf(id)).toMatchObject({ current_tier_code: 'silver' });
    expect((await client.set(id, {})).data).toMatchObject({ changed: false, reason: 'inactive' });
    expect(await client.sweep(70)).toMatchObject({ checked: 0 });
    expect(await client.sweep(72)).toMatchObject({ demoted: 1 });
    expect(await client.sweep(400)).toMatchObject({ demoted: 0 });
    const { history } = await client.tierOf(id);
    expect(history.slice(0, 2).map(({ to_code, context }) => [to_code, context['inactive_days']])).toEqual([
      ['bronze', 72],
      ['silver', 36],
    ]);
    const { service: sql } = service.platform.postgres;
    // As if all that had been in the past: now the player comes back.
    await sql`update player_totals set tier_demoted_at = now() - interval '1 day', last_active_at = now() - interval '73 days'
      where player_id = ${id}`;
    await client.send({ event: 'email_opened', player_id: id, timestamp: new Date().toISOString() });
    await folded(service.platform);
    await client.settled();
    await client.reaches(id, 'bronze');
    await client.send(session({ player_id: id }));
    await client.reaches(id, 'gold');
    expect(await client.tierOf(id)).toMatchObject({ tier_demoted_at: null });
  });

  it('counts own activity by event time, and nothing else', async () => {
    const id = await known();
    const { service: sql } = service.platform.postgres;
    const activeAt = async () => {
      await folded(service.platform);
      const [row] = await sql<{ at: string }[]>`
        select last_active_at::text as at from player_totals where player_id = ${id}`;
      return row?.at === '-infinity' ? null : Date.parse(String(row?.at));
    };
    const at = (event: string, days_ago: number, properties: Fields = {}): Sent => ({
      event,
      player_id: id,
      timestamp: new Date(Math.floor(Date.now() / 1_000) * 1_000 - days_ago * DAY_MS).toISOString(),
      properties,
    });
    for (const event of [
      'signup',
      'logout',
      'email_opened',
      'email_clicked',
      'kyc_approved',
      'reality_check',
      'custom_x',
    ])
      await client.send(at(event, 1));
    expect(await activeAt()).toBeNull();
    const login = at('login', 20);
    await client.send(login, at('page_view', 30));
    expect(await activeAt()).toBe(Date.parse(login.timestamp ?? ''));
    for (const [i, event] of ['click', 'session_start', 'session_end', 'page_view'].entries()) {
      const sent = at(event, 10 - i);
      await client.send(sent);
      expect(await activeAt(), event).toBe(Date.parse(sent.timestamp ?? ''));
    }
    const paid = { ...deposit({ player_id: id }, randomUUID(), 5), timestamp: at('', 5).timestamp ?? '' };
    await client.send(paid, at('click', 6));
    expect(await activeAt()).toBe(Date.parse(paid.timestamp));
    const bet = { ...placed({ player_id: id }, randomUUID(), 5), timestamp: at('', 4).timestamp ?? '' };
    await client.send(bet);
    expect(await activeAt()).toBe(Date.parse(bet.timestamp));
  });
});

it('days since the first event are the only thing missing: the sweep finds the player on that day', async () => {
  const requirements = { lifetime_wagered_subunit: 100, min_days_active: 10 };
  await client.api('POST', '/v1/vip-tiers', { code: 'loyal', name: 'Loyal', rank: 1, requirements });
  const id = await known();
  await client.fold(stake('ann', 100));
  await client.settled();
  expect(await client.sweep(9)).toMatchObject({ promoted: 0 });
  expect(await client.sweep(10)).toMatchObject({ promoted: 1 });
  expect((await client.tierOf(id)).history[0]?.context).toMatchObject({ met: { days_active: 10 } });
  // An event of long ago, which an import brings, has the same effect at the next sweep.
  const other = await known('ben');
  await client.fold(stake('ben', 100));
  await client.send({
    ...session({ anonymous_id: 'ben' }),
    timestamp: new Date(Date.now() - 20 * DAY_MS).toISOString(),
  });
  await folded(service.platform);
  await client.settled();
  expect(await client.tierOf(other)).toMatchObject({ current_tier_code: null });
  await client.sweep(0);
  expect(await client.tierOf(other)).toMatchObject({ current_tier_code: 'loyal' });
});

describe('two merged players', () => {
  it('have the higher tier, one history, and then what the sum has earned', async () => {
    await client.tier('bronze', 1, 0);
    await client.tier('silver', 2, 1_000);
    await client.tier('gold', 3, 2_000);
    const ann = await known();
    await client.fold(stake('visitor', 1_200));
    const visitor = (await client.identify({ anonymous_id: 'visitor' })).player_id;
    await client.reaches(visitor, 'silver');
    await client.computes(ann, 'bronze');
    await client.fold(stake('ann', 800));
    await client.settled();
    const merged = await client.identify({ external_id: 'ann', anonymous_id: 'visitor' });
    expect(merged).toMatchObject({ player_id: ann, merged_player_ids: [visitor] });
    const { history } = await client.reaches(ann, 'gold');
    expect(history.map(({ from_code, to_code, trigger }) => `${from_code} ${to_code} ${trigger}`)).toEqual([
      'silver gold auto',
      'bronze silver reset',
      expect.stringMatching(/null/),
      expect.stringMatching(/null/),
    ]);
    expect(history[1]?.context).toEqual({ cause: 'merge', merged_player_id: visitor });
    // The id of the merged player leads to the survivor.
    expect(await client.tierOf(visitor)).toMatchObject({ current_tier_code: 'gold' });
  });

  it('stay locked when one was', async () => {
    await client.tier('bronze', 1, 0);
    await client.tier('silver', 2, 1_000);
    await client.tier('gold', 3, 2_000);
    const ann = await known();
    await client.fold(session({ anonymous_id: 'visitor' }));
    const visitor = (await client.identify({ anonymous_id: 'visitor' })).player_id;
    await client.computes(visitor, 'bronze');
    await client.set(visitor, { to_code: 'silver', reason: 'care', lock: true });
    await client.identify({ external_id: 'ann', anonymous_id: 'visitor' });
    await client.fold(stake('ann', 5_000));
    await client.settled();
    expect(await client.tierOf(ann)).toMatchObject({ current_tier_code: 'silver', tier_locked: true });
  });
});

it('a realtime segment of a tier has the player soon after', async () => {
  await client.tier('gold', 1, 100);
  const id = await known();
  const condition = { type: 'trait', field: 'current_tier_code', op: 'eq', value: 'gold' };
  const definition = { operator: 'AND', conditions: [condition] };
  const body = { name: 'Gold', definition, refresh_strategy: 'realtime' };
  const { data } = await client.api('POST', '/v1/segments', body);
  await client.send(stake('ann', 100));
  await until('the player is in the segment', async (saw) => {
    const { segment_ids } = saw(await client.player(id));
    return (segment_ids as string[]).includes(String(data['id']));
  });
});
