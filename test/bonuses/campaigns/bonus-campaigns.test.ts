import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { campaignsFixture, consistent, sumOf, type ShownCampaign } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

describe('issuing a campaign', () => {
  it('grants to every member who passes the gate, and counts the others by code', async () => {
    const on = await fresh();
    const players = await on.client.players(30);
    const [excluded, banned, resting, at_risk, deleted, granted] = players as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const set = (id: string, change: string) =>
      on.sql.unsafe(`update players set ${change} where player_id = '${id}'`);
    await set(excluded, 'self_excluded = true');
    await set(banned, `status = 'banned'`);
    await set(resting, `cooldown_until = now() + interval '1 day'`);
    await set(at_risk, `custom_attributes = custom_attributes || '{"rg_risk": "strong"}'`);
    await set(deleted, 'deleted_at = now()');
    const template_id = await on.template();
    expect((await on.grant(template_id, granted)).status).toBe(201);
    const segment_id = await on.client.segment(players);
    const { data, status, error } = await on.create({ template_id, segment_id });
    expect(status, JSON.stringify(error)).toBe(201);
    expect(data).toMatchObject({ status: 'draft', stats: { pending: 0, granted: 0, skipped: 0, failed: 0 } });

    const dry = await on.issue(data.id, {}, '?dry_run=true');
    const skips = { SELF_EXCLUDED: 1, BANNED: 1, COOLDOWN: 1, AT_RISK: 1, ALREADY_GRANTED: 1 };
    expect(dry.data).toEqual({ members: 29, would_grant: 24, skips, cost_base: 24_000 });
    expect(await on.sql`select from bonus_campaign_rows where campaign_id = ${data.id}`).toHaveLength(0);

    const key = { 'idempotency-key': randomUUID() };
    const issued = await on.issue(data.id, key);
    expect(issued.status, JSON.stringify(issued.error)).toBe(200);
    expect(issued.data).toEqual({
      id: data.id,
      status: 'issuing',
      stats: { pending: 29, granted: 0, skipped: 0, failed: 0 },
    });
    expect((await on.issue(data.id, key)).data).toEqual(issued.data);
    expect((await on.issue(data.id)).code).toBe('BONUS_CAMPAIGN_INVALID_STATUS');

    const done = await on.reaches(data.id, (one) => one.status === 'issued');
    expect(done).toMatchObject({
      stats: { pending: 0, granted: 24, skipped: 5, failed: 0 },
      skips,
      cost: { granted_base: 24_000, released_base: 0, ended_unreleased_base: 0, open_base: 24_000 },
      finished_at: expect.any(String) as string,
    });
    await consistent(on, data.id);
    const granted_row = await on.client.api<Body[]>('GET', `/v1/bonus-grants?campaign_id=${data.id}&limit=1`);
    expect(granted_row.data[0]).toMatchObject({
      granted_by_kind: 'campaign',
      granted_by_id: data.id,
      campaign_id: data.id,
      status: 'active',
      bonus_amount: 1_000,
    });
    // A second campaign of the template finds them all granted.
    const second = (await on.create({ template_id, segment_id })).data.id;
    await on.issue(second);
    const again = await on.reaches(second, (one) => one.status === 'issued');
    expect(again.stats).toEqual({ pending: 0, granted: 0, skipped: 29, failed: 0 });
  });

  it('never costs more than its limits, and leaves less than one grant', async () => {
    const on = await fresh();
    const players = await on.client.players(40);
    const segment_id = await on.client.segment(players);
    for (const [limits, template, granted] of [
      [{ max_liability: 10_999 }, {}, 10],
      [{ max_grants: 7 }, {}, 7],
      [{}, { budget_base: 12_345 }, 12],
      [{ max_liability: 20_000, max_grants: 30 }, { budget_base: 15_000 }, 15],
    ] as const) {
      const template_id = await on.template(template);
      const { data } = await on.create({ template_id, segment_id, ...limits });
      await on.config({ grants_per_day: 100 });
      expect((await on.issue(data.id, {}, '?dry_run=true')).data).toMatchObject({ would_grant: granted });
      await on.issue(data.id);
      const done = await on.reaches(data.id, (one) => one.status === 'issued');
      expect(done.stats).toEqual({ pending: 0, granted, skipped: 40 - granted, failed: 0 });
      expect(done.skips).toEqual({ BUDGET: 40 - granted });
      await consistent(on, data.id);
    }
  });

  it('checks what it names, deposits, its limits and its status', async () => {
    const on = await fresh();
    const segment_id = await on.client.segment([]);
    const template_id = await on.template({
      type: 'deposit_match',
      config: { match_percent: 100, cap_amount: 5_000, currency: 'EUR', min_deposit: 100 },
      wagering_requirement_multiplier: 5,
    });
    const code = async (body: Body) => (await on.create({ template_id, segment_id, ...body })).code;
    expect(await code({})).toBe('BONUS_DEPOSIT_AMOUNT_REQUIRED');
    expect(await code({ deposit_amount: 1_000, deposit_from: 'last_deposit' })).toBe('VALIDATION_ERROR');
    expect(await code({ deposit_amount: 1_000, template_id: randomUUID() })).toBe('BONUS_TEMPLATE_NOT_FOUND');
    expect(await code({ deposit_amount: 1_000, segment_id: randomUUID() })).toBe('VALIDATION_ERROR');
    expect(await code({ deposit_amount: 1_000, currency_override: 'ABC' })).toBe('VALIDATION_ERROR');
    expect(await code({ deposit_amount: 1_000, status: 'issued' })).toBe('FIELD_NOT_WRITABLE');
    const { data } = await on.create({ template_id, segment_id, deposit_amount: 2_000 });
    expect((await on.patch(data.id, { deposit_amount: null })).code).toBe('BONUS_DEPOSIT_AMOUNT_REQUIRED');
    expect((await on.patch(data.id, { status: 'paused' })).code).toBe('BONUS_CAMPAIGN_INVALID_STATUS');
    expect((await on.patch(data.id, { name: 'b', max_grants: 3 })).data).toMatchObject({
      name: 'b',
      max_grants: 3,
    });
    expect((await on.client.api('GET', `/v1/bonus-campaigns/${randomUUID()}`)).code).toBe(
      'BONUS_CAMPAIGN_NOT_FOUND',
    );
    expect(
      (await on.client.api<ShownCampaign[]>('GET', '/v1/bonus-campaigns?status=draft')).data.map(
        ({ id }) => id,
      ),
    ).toEqual([data.id]);
    expect((await on.client.api('GET', '/v1/bonus-campaigns?status=wrong')).status).toBe(422);
    // One grant may cost more than the threshold.
    const dear = await on.template({ config: { amount: 1_000_001, currency: 'EUR' } });
    const large = await on.client.segment(await on.client.players(1));
    const costly = (await on.create({ template_id: dear, segment_id: large })).data.id;
    expect((await on.issue(costly)).code).toBe('VALIDATION_ERROR');
    expect((await on.patch(costly, { max_liability: 2_000_000 })).status).toBe(200);
    expect((await on.issue(costly)).status).toBe(200);
    await on.reaches(costly, (one) => one.status === 'issued');
  });

  it.each([
    ['JPY', 10_000],
    ['EUR', 1_000_000],
    ['KWD', 10_000_000],
  ])('in %s needs max_liability when it may cost more than 10,000 whole units', async (base, much) => {
    const on = await campaignsFixture(service, base);
    const segment_id = await on.client.segment(await on.client.players(1));
    for (const amount of [much, much + 1]) {
      const template_id = await on.template({ config: { amount, currency: base } });
      const { id } = (await on.create({ template_id, segment_id })).data;
      const { code } = await on.issue(id);
      expect(code).toBe(amount > much ? 'VALIDATION_ERROR' : undefined);
      if (code === undefined) await on.reaches(id, ({ status }) => status === 'issued');
    }
  });

  it('gives a share of the last deposit, and nothing without one', async () => {
    const on = await fresh();
    const template_id = await on.template({
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 5_000, currency: 'EUR', min_deposit: 100 },
      wagering_requirement_multiplier: 5,
    });
    const players = await on.client.players(5);
    const [one, small, , reversed, partly] = players as [string, string, string, string, string];
    const deposit = async (player_id: string, amount: number) => {
      const transaction_id = randomUUID();
      const of = { amount, currency: 'EUR', transaction_id };
      await on.client.event(player_id, 'deposit_confirmed', { ...of, payment_method: 'card' });
      return transaction_id;
    };
    const reverse = (player_id: string, transaction_id: string, amount: number) =>
      on.client.event(player_id, 'deposit_reversed', {
        amount,
        currency: 'EUR',
        transaction_id,
        reversal_id: randomUUID(),
      });
    await deposit(one, 9_000);
    await deposit(one, 4_001);
    await deposit(small, 50);
    // What was charged back is no deposit, and of a refunded one counts what is left.
    await reverse(reversed, await deposit(reversed, 1_000), 1_000);
    const earlier = await deposit(partly, 3_000);
    await reverse(partly, earlier, 1_000);
    await reverse(partly, await deposit(partly, 7_000), 7_000);
    // ClickHouse may not have them yet: the decisions wait for it.
    const segment_id = await on.client.segment(players);
    const { data } = await on.create({ template_id, segment_id, deposit_from: 'last_deposit' });
    await on.issue(data.id);
    const done = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(done.stats).toEqual({ pending: 0, granted: 2, skipped: 3, failed: 0 });
    expect(done.skips).toEqual({ NO_DEPOSIT: 3 });
    expect(done.cost['granted_base']).toBe(3_000);
    const { data: grants } = await on.client.api<Body[]>('GET', `/v1/bonus-grants?player_id=${partly}`);
    expect(grants).toEqual([
      expect.objectContaining({
        deposit_amount: 2_000,
        deposit_transaction_id: earlier,
        bonus_amount: 1_000,
      }),
    ]);
  });

  it('is issued when it is due', async () => {
    const on = await fresh();
    const segment_id = await on.client.segment(await on.client.players(3));
    const template_id = await on.template();
    const schedule_at = new Date(Date.now() + 3_600_000).toISOString();
    const { data } = await on.create({ template_id, segment_id, schedule_at });
    expect(data.status).toBe('scheduled');
    await on.sql`update bonus_campaigns set schedule_at = now() - interval '1 second' where campaign_id = ${data.id}`;
    const done = await on.reaches(data.id, ({ status }) => status === 'issued');
    expect(done.stats).toEqual({ pending: 0, granted: 3, skipped: 0, failed: 0 });
    // One that cannot be issued is a draft again, and says why.
    const late = (await on.create({ template_id, segment_id, schedule_at })).data.id;
    await on.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { status: 'paused' });
    await on.sql`update bonus_campaigns set schedule_at = now() - interval '1 second' where campaign_id = ${late}`;
    expect(await on.reaches(late, ({ status }) => status === 'draft')).toMatchObject({
      last_error: expect.stringContaining('is paused') as string,
    });
  });
});

describe('a campaign that is being issued', () => {
  it('keeps its rate, is paused, goes on and is cancelled', async () => {
    const on = await fresh();
    const segment_id = await on.client.segment(await on.client.players(60));
    const template_id = await on.template();
    const { data } = await on.create({ template_id, segment_id, rate_per_second: 10 });
    await on.issue(data.id);
    await on.reaches(data.id, ({ stats }) => stats.granted >= 5);
    const ages_s = await on.sql<{ age_s: number }[]>`
      select extract(epoch from created_at - min(created_at) over ())::float8 as age_s
      from bonus_grants where campaign_id = ${data.id} order by created_at`;
    expect(ages_s.map(({ age_s }) => age_s).filter((age_s, i) => i + 1 > 10 * age_s + 4)).toEqual([]);
    expect((await on.patch(data.id, { status: 'paused' })).data.status).toBe('paused');
    const sent = async () =>
      (await on.sql`select from bonus_campaign_rows where campaign_id = ${data.id} and status = 'sent'`)
        .length;
    await until('what was sent is resolved', async (saw) => saw(await sent()) === 0);
    const paused = await on.show(data.id);
    expect(paused.status).toBe('paused');
    expect(sumOf(paused)).toBe(60);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await on.show(data.id)).stats).toEqual(paused.stats);
    expect((await on.patch(data.id, { status: 'issuing' })).data.status).toBe('issuing');
    await on.reaches(data.id, ({ stats }) => stats.granted > paused.stats.granted);
    expect((await on.patch(data.id, { status: 'cancelled' })).data.status).toBe('cancelled');
    const ended = await on.reaches(data.id, ({ stats }) => stats.pending === 0);
    expect(ended.status).toBe('cancelled');
    expect(ended.skips).toEqual({ CANCELLED: 60 - ended.stats.granted });
    expect(ended.stats.granted).toBeLessThan(60);
    expect((await on.patch(data.id, { status: 'issuing' })).code).toBe('BONUS_CAMPAIGN_INVALID_STATUS');
    await consistent(on, data.id);
  });

  it('stands still while the tenant has paused its bonuses', async () => {
    const on = await fresh();
    const segment_id = await on.client.segment(await on.client.players(5));
    const template_id = await on.template();
    await on.config({ paused: true });
    const { data } = await on.create({ template_id, segment_id });
    expect((await on.issue(data.id)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await on.show(data.id)).stats).toEqual({ pending: 5, granted: 0, skipped: 0, failed: 0 });
    await on.config({ paused: false });
    expect((await on.reaches(data.id, ({ status }) => status === 'issued')).stats.granted).toBe(5);
  });

  it('counts what a platform refuses as failed, and frees its budget', async () => {
    const on = await fresh();
    const adapter = await on.adapter();
    try {
      const body = JSON.stringify({ code: 'NO_WALLET', message: 'no wallet' });
      await adapter.fake.control({ answer: { status: 422, body } });
      const segment_id = await on.client.segment(await on.client.players(4));
      const template_id = await on.template();
      const { data } = await on.create({ template_id, segment_id, max_liability: 3_500 });
      await on.issue(data.id);
      const done = await on.reaches(data.id, ({ status }) => status === 'issued');
      // Its limit had room for three; what they did not use, the fourth was offered.
      expect(done.stats).toEqual({ pending: 0, granted: 0, skipped: 0, failed: 4 });
      await consistent(on, data.id);
      // What failed holds nothing of the limits, and another campaign grants it.
      await adapter.fake.control({ answer: null });
      const again = (await on.create({ template_id, segment_id, max_liability: 3_500 })).data.id;
      await on.issue(again);
      const granted = await on.reaches(again, ({ status }) => status === 'issued');
      expect(granted.stats).toEqual({ pending: 0, granted: 3, skipped: 1, failed: 0 });
      await consistent(on, again);
    } finally {
      await adapter.close();
    }
  });
});

describe('the rules of the licence', () => {
  const SPINS = {
    type: 'free_spins',
    product: 'casino',
    config: { count: 20, value_per_spin: 10, currency: 'EUR', eligible_games: ['book'] },
  };
  const licensed = async (on: Awaited<ReturnType<typeof fresh>>, license_jurisdiction: string | null) =>
    expect((await on.client.api('PATCH', '/v1/tenant/config', { license_jurisdiction })).status).toBe(200);
  const refusal = ({ status, error }: { status: number; error: unknown }) => {
    const { code, details } = error as { code: string; details: Record<string, unknown> };
    return [status, code, details['rule_id'] ?? details['reason']];
  };
  const mixed = [422, 'LICENCE_RULE_VIOLATED', 'ukgc_single_product'];

  it('are asked about what members bet on, when a campaign is written, changed and issued', async () => {
    const on = await fresh();
    const segment_id = await on.client.segment(await on.client.players(1));
    const template_id = await on.template(SPINS);
    const body = { template_id, segment_id };
    const { data: old } = await on.create({ ...body, qualifying_product: 'betting' });
    expect(old).toMatchObject({ qualifying_product: 'betting', advertising: 'direct' });
    await licensed(on, 'ukgc');
    // “Bet 5, get 20 spins” is the Commission's own example of what may not be offered.
    expect(refusal(await on.create({ ...body, qualifying_product: 'betting' }))).toEqual(mixed);
    expect(refusal(await on.create({ ...body, qualifying_product: 'any' }))).toEqual(mixed);
    const { data, status } = await on.create({ ...body, qualifying_product: 'casino' });
    expect(status).toBe(201);
    expect(refusal(await on.patch(data.id, { qualifying_product: 'bingo' }))).toEqual(mixed);
    expect((await on.patch(data.id, { qualifying_product: null })).data).toMatchObject({
      qualifying_product: null,
    });
    expect(refusal(await on.issue(old.id))).toEqual(mixed);
    expect(refusal(await on.issue(old.id, {}, '?dry_run=true'))).toEqual(mixed);
    const bet = { type: 'free_bet', product: 'betting', config: { amount: 500, currency: 'EUR' } };
    const free_bet = { segment_id, template_id: await on.template(bet), qualifying_product: 'betting' };
    expect((await on.create(free_bet)).status).toBe(201);
  });

  it('are asked about the advertising', async () => {
    const on = await fresh();
    await licensed(on, 'ontario_agco');
    const body = { template_id: await on.template(SPINS), segment_id: await on.client.segment([]) };
    expect(refusal(await on.create({ ...body, advertising: 'public' }))).toEqual([
      422,
      'LICENCE_RULE_VIOLATED',
      'ontario_no_public_advertising',
    ]);
    const { data } = await on.create({ ...body, advertising: 'own_site' });
    expect(data).toMatchObject({ advertising: 'own_site' });
    expect(refusal(await on.patch(data.id, { advertising: 'public' }))[2]).toBe(
      'ontario_no_public_advertising',
    );
    expect((await on.create({ ...body, advertising: 'television' })).code).toBe('VALIDATION_ERROR');
  });

  it('are asked about what the player bet on when a bonus is granted', async () => {
    const on = await fresh();
    await licensed(on, 'ukgc');
    const template_id = await on.template(SPINS);
    const player_id = await on.player();
    const missing = await on.grant(template_id, player_id);
    expect(refusal(missing)).toEqual([422, 'BONUS_PLAYER_NOT_ELIGIBLE', 'ukgc_at_risk']);
    expect(missing.error).toMatchObject({ details: { missing_trait: 'rg_risk', reason: 'LICENCE_RULE' } });
    await on.sql`update players set custom_attributes = '{"rg_risk": "none"}' where player_id = ${player_id}`;
    const betting = await on.grant(template_id, player_id, { qualifying_product: 'betting' });
    expect(refusal(betting)).toEqual([422, 'BONUS_PLAYER_NOT_ELIGIBLE', 'ukgc_single_product']);
    for (const qualifying_product of ['casino', null]) {
      expect((await on.grant(template_id, player_id, { qualifying_product })).status).toBe(201);
    }
  });

  it('that only warn are kept with the grant', async () => {
    const on = await fresh();
    const players = await on.client.players(2);
    const template_id = await on.template(SPINS);
    await licensed(on, 'dgoj');
    const [first = ''] = players;
    const warned = async (id: string) => {
      const { history } = await on.get(id);
      const { data } = history[0] as unknown as { data: { licence_warnings?: { rule_id: string }[] } };
      return data.licence_warnings?.map(({ rule_id }) => rule_id);
    };
    const granted = await on.grant(template_id, first);
    expect(await warned(granted.data.id)).toEqual(['spain_min_account_age', 'spain_verified']);
    const { data } = await on.create({ template_id, segment_id: await on.client.segment(players) });
    await on.issue(data.id);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    const rows = await on.sql<{ grant_id: string }[]>`
      select grant_id from bonus_grants where campaign_id = ${data.id}`;
    expect(await Promise.all(rows.map(({ grant_id }) => warned(grant_id)))).toEqual(
      rows.map(() => ['spain_min_account_age', 'spain_verified']),
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  it('of another licence are shown at templates that break them, which go on', async () => {
    const on = await fresh();
    const template_id = await on.template({ wagering_requirement_multiplier: 35 });
    const fine = await on.template({ wagering_requirement_multiplier: 10 });
    const shown = async (id: string) =>
      (
        await on.client.api<{ status: string; licence_warnings: { rule_id: string }[] }>(
          'GET',
          `/v1/bonus-templates/${id}`,
        )
      ).data;
    const warns = (what: string, rules: string[]) =>
      until(what, async (saw) => {
        const { status, licence_warnings } = saw(await shown(template_id));
        expect(status).toBe('active');
        const ids = licence_warnings.map(({ rule_id }) => rule_id);
        return ids.join() === rules.join();
      });
    await licensed(on, 'ukgc');
    await warns('it breaks the rule of the licence', ['ukgc_max_wagering']);
    expect((await shown(fine)).licence_warnings).toEqual([]);
    await licensed(on, null);
    await warns('nothing holds any more', []);
  });
});
