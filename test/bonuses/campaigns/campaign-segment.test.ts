import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { campaignsFixture, holdRelease, release, type CampaignsFixture } from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const ruleOf = ({ status, error }: { status: number; error: unknown }) => {
  const found = error as { code?: string; details?: { rule_id?: string } } | undefined;
  return found === undefined ? status : `${status} ${found.code} ${found.details?.rule_id}`;
};
const MIXED = '422 LICENCE_RULE_VIOLATED ukgc_single_product';

const bets = (event: string, rest: Body = {}): Body => ({
  type: 'event',
  event,
  aggregate: 'count',
  op: 'gte',
  value: 1,
  window: { last: { days: 30 } },
  ...rest,
});
const SPORT = bets('sport_bet_placed');
const CASINO = bets('bet_settled');
const TRAIT = { type: 'trait', field: 'total_deposited', op: 'gt', value: 0 };

async function segmentOf(on: CampaignsFixture, conditions: Body[], operator = 'AND'): Promise<string> {
  const definition = { operator, conditions };
  const body = { name: `segment ${Math.random()}`, definition, refresh_strategy: 'manual' };
  const { data, status, error } = await on.client.api('POST', '/v1/segments', body);
  expect(status, JSON.stringify(error)).toBe(201);
  return String(data['id']);
}

describe('the product that members bet on, by the conditions of the segment', () => {
  it('is judged when a campaign is written', async () => {
    const on = await campaignsFixture(service);
    const licence = { license_jurisdiction: 'ukgc' };
    expect((await on.client.api('PATCH', '/v1/tenant/config', licence)).status).toBe(200);
    const template_id = await on.template({ product: 'casino' });
    const judged = async (conditions: Body[], rest: Body = {}, operator = 'AND') =>
      ruleOf(
        await on.create({ template_id, segment_id: await segmentOf(on, conditions, operator), ...rest }),
      );
    const nested = await segmentOf(on, [{ operator: 'OR', conditions: [TRAIT, SPORT] }]);
    const inner = (op: string) => ({ type: 'segment', segment_id: nested, op });
    const never = (rest: Body) => [TRAIT, bets('sport_bet_placed', rest)];
    const steps = [{ event: 'login' }, { event: 'sport_bet_settled' }];
    const cases: [string, string | number, Body[], Body?, string?][] = [
      ['bets on sports', MIXED, [SPORT]],
      ['said to be none', MIXED, [SPORT], { qualifying_product: null }],
      ['the caller says otherwise', 201, [SPORT], { qualifying_product: 'casino' }],
      ['bets on both', MIXED, [SPORT, CASINO]],
      ['bets in the casino', 201, [CASINO]],
      ['no bets', 201, [TRAIT]],
      ['a sequence', MIXED, [{ type: 'sequence', steps }]],
      [
        'a time of the last bet',
        MIXED,
        never({ aggregate: 'last_seen', op: 'within_last', value: { days: 7 } }),
      ],
      ['count = 0', 201, never({ op: 'eq', value: 0 })],
      ['fewer than three', 201, never({ op: 'lt', value: 3 })],
      ['never', 201, never({ aggregate: 'last_seen', op: 'not_exists', value: undefined })],
      ['not 0', MIXED, never({ op: 'neq', value: 0 })],
      ['NOT a bet', 201, [{ operator: 'NOT', conditions: [SPORT] }, TRAIT]],
      ['NOT none', MIXED, [{ operator: 'NOT', conditions: never({ op: 'eq', value: 0 }).slice(1) }]],
      ['one of several', MIXED, [CASINO, SPORT], {}, 'OR'],
      ['in another segment', MIXED, [inner('in')]],
      ['not in another segment', 201, [inner('not_in'), TRAIT]],
    ];
    for (const [what, expected, conditions, rest, operator] of cases) {
      expect(await judged(conditions, rest, operator), what).toBe(expected);
    }
  });

  it('is judged when it is issued: the segment may have changed since', async () => {
    const on = await campaignsFixture(service);
    const template_id = await on.template({ product: 'casino' });
    const segment_id = await segmentOf(on, [SPORT]);
    const { data } = await on.create({ template_id, segment_id });
    const licence = { license_jurisdiction: 'ukgc' };
    expect((await on.client.api('PATCH', '/v1/tenant/config', licence)).status).toBe(200);
    expect(ruleOf(await on.issue(data.id))).toBe(MIXED);
    expect(ruleOf(await on.issue(data.id, {}, '?dry_run=true'))).toBe(MIXED);
    const definition = { operator: 'AND', conditions: [CASINO] };
    const patched = await on.client.api('PATCH', `/v1/segments/${segment_id}`, { definition });
    expect(patched.status, JSON.stringify(patched.error)).toBe(200);
    expect((await on.issue(data.id)).status).toBe(200);
  });

  it('is judged at each grant, by the conditions of the issue: the licence may have changed since', async () => {
    const on = await campaignsFixture(service);
    const { tenant_id, project_id } = on.tenant;
    const players = await on.client.players(3);
    await on.sql`
      update players set custom_attributes = '{"rg_risk": "none", "birth_date": "1980-01-01"}'
      where tenant_id = ${tenant_id}`;
    // Nothing is released before the licence has changed.
    const reserved = async (conditions: Body[], rest: Body = {}) => {
      const template_id = await on.template({ product: 'betting' });
      const segment_id = await segmentOf(on, conditions);
      await on.sql`
        insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
        select ${tenant_id}::uuid, ${project_id}::uuid, ${segment_id}::uuid, player_id, now() - interval '1 second' from players
        where tenant_id = ${tenant_id} on conflict do nothing`;
      const { data } = await on.create({ template_id, segment_id, rate_per_second: 100, ...rest });
      await on.config({ paused: true });
      expect((await on.issue(data.id)).status).toBe(200);
      await holdRelease(on, data.id);
      await on.config({ paused: false });
      await until('all are reserved', async (saw) => {
        const rows = saw(
          await on.sql`
          select from bonus_campaign_rows where campaign_id = ${data.id} and status = 'reserved'`,
        );
        return rows.length === players.length;
      });
      return { id: data.id, segment_id };
    };
    const of_casino = await reserved([bets('bet_placed')]);
    const of_nothing = await reserved([TRAIT]);
    const said = await reserved([bets('bet_placed')], { qualifying_product: 'betting' });
    const definition = { operator: 'AND', conditions: [SPORT] };
    const patched = await on.client.api('PATCH', `/v1/segments/${of_casino.segment_id}`, { definition });
    expect(patched.status, JSON.stringify(patched.error)).toBe(200);
    const licence = { license_jurisdiction: 'ukgc' };
    expect((await on.client.api('PATCH', '/v1/tenant/config', licence)).status).toBe(200);
    for (const { id } of [of_casino, of_nothing, said]) await release(on, id);
    const done = (id: string) => on.reaches(id, ({ status }) => status === 'issued');
    expect((await done(of_nothing.id)).stats).toMatchObject({ granted: 3 });
    expect((await done(said.id)).stats).toMatchObject({ granted: 3 });
    const judged = await done(of_casino.id);
    expect(judged.skips).toEqual({ LICENCE_RULE: 3 });
    // What the caller has said of the product is shown as it was said.
    expect(judged).toMatchObject({ qualifying_product: null });
  });
});

describe('a campaign whose segment was deleted', () => {
  it('has no members, whether it is tried, issued or due', async () => {
    const on = await campaignsFixture(service);
    const { tenant_id, project_id } = on.tenant;
    const [player_id = ''] = await on.client.players(1);
    const segment_id = await on.client.segment([player_id]);
    const body = { template_id: await on.template(), segment_id };
    const schedule_at = new Date(Date.now() + 3_600_000).toISOString();
    const { data: draft } = await on.create(body);
    const { data: due } = await on.create({ ...body, schedule_at });
    expect((await on.client.api('DELETE', `/v1/segments/${segment_id}`)).status).toBe(200);
    // Rows of members stay for a while.
    await on.sql`
      insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      values (${tenant_id}, ${project_id}, ${segment_id}, ${player_id}, now()) on conflict do nothing`;
    const tried = await on.issue(draft.id, {}, '?dry_run=true');
    expect(tried).toMatchObject({
      status: 200,
      data: { members: 0, would_grant: 0, skips: {}, cost_base: 0 },
    });
    const none = { pending: 0, granted: 0, skipped: 0, failed: 0 };
    expect(await on.issue(draft.id)).toMatchObject({ status: 200, data: { stats: none } });
    await on.sql`update bonus_campaigns set schedule_at = now() - interval '1 second' where campaign_id = ${due.id}`;
    for (const { id } of [draft, due])
      expect((await on.reaches(id, ({ status }) => status === 'issued')).stats).toEqual(none);
    // To write one, the segment must be there.
    expect((await on.create(body)).code).toBe('VALIDATION_ERROR');
    expect(await on.sql`select from bonus_grants where tenant_id = ${tenant_id}`).toEqual([]);
  });
});
