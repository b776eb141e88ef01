import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { releaseMembers } from '../../../src/bonuses/campaigns/release-members.ts';
import { CampaignRelease } from '../../../src/bonuses/campaigns/release.ts';
import { lockPart } from '../../../src/bonuses/campaigns/work-queries.ts';
import { compareBudgets } from '../../../src/bonuses/reconcile/compare-budgets.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { call, internally } from '../../engines/http-client.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import {
  campaignsFixture,
  consistent,
  holdRelease,
  release,
  type CampaignsFixture,
} from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

/** A campaign of which every one of these players is reserved, and whose rate is used up. */
async function reserved(
  on: CampaignsFixture,
  template_id: string,
  players: readonly string[],
  rest: Body = {},
) {
  const segment_id = await on.client.segment([...players]);
  const { data } = await on.create({ template_id, segment_id, rate_per_second: 100, ...rest });
  await on.config({ paused: true });
  await on.issue(data.id);
  await holdRelease(on, data.id);
  await on.config({ paused: false });
  await until(
    'all are reserved',
    async (saw) => saw(await countOf(on, data.id, 'reserved')) === players.length,
  );
  return data.id;
}

async function countOf(on: CampaignsFixture, campaign_id: string, status: string): Promise<number> {
  const rows = await on.sql`
    select from bonus_campaign_rows where campaign_id = ${campaign_id} and status = ${status}`;
  return rows.length;
}

async function codeOf(on: CampaignsFixture, campaign_id: string, player_id: string) {
  const [row] = await on.sql<{ status: string; code: string | null }[]>`
    select status, code from bonus_campaign_rows where campaign_id = ${campaign_id} and player_id = ${player_id}`;
  return row?.code ?? row?.status;
}

async function usedBy(on: CampaignsFixture, campaign_id: string): Promise<[string, number]> {
  const [row] = await on.sql<{ used: string; grants: number }[]>`
    select used_base::text as used, used_grants as grants from bonus_campaign_budgets where campaign_id = ${campaign_id}`;
  return [row?.used ?? '', row?.grants ?? -1];
}

/** Every grant of the campaign is that of a member. */
async function hasNoStrayGrant(on: CampaignsFixture, campaign_id: string): Promise<void> {
  const stray = await on.sql`
    select g.grant_id from bonus_grants g where g.campaign_id = ${campaign_id} and not exists (
      select from bonus_campaign_rows r where r.grant_id = g.grant_id and r.campaign_id = g.campaign_id)`;
  expect([...stray]).toEqual([]);
}

interface Asked {
  grant_id: string | null;
  outcome: string;
  code?: string;
}

async function ask(on: CampaignsFixture, campaign_id: string, player_id: string) {
  const { data } = await internally<Asked>(service, 'bonus-grant', {
    tenant_id: on.tenant.tenant_id,
    campaign_id,
    player_id,
  });
  return data;
}

async function identify(on: CampaignsFixture, body: object): Promise<string> {
  const answer = await call<{ player_id: string }>(
    `${service.base_url}/v1/players/identify`,
    on.tenant.api_key,
    { body },
  );
  return answer.data.player_id;
}

describe('a reserved member', () => {
  it('has no grant, but its cost is held, and budgets are compared with it', async () => {
    const on = await fresh();
    const template_id = await on.template({ budget_base: 3_500 });
    const players = await on.client.players(3);
    const id = await reserved(on, template_id, players);
    expect((await on.client.api<Body[]>('GET', `/v1/bonus-grants?campaign_id=${id}`)).data).toEqual([]);
    expect(await on.show(id)).toMatchObject({
      stats: { pending: 3, granted: 0 },
      cost: { granted_base: 0, released_base: 0, ended_unreleased_base: 0, open_base: 3_000 },
    });
    await consistent(on, id);
    expect(await usedBy(on, id)).toEqual(['3000', 3]);
    const { tenant_id } = on.tenant;
    expect(await compareBudgets(service.platform, tenant_id)).toEqual({ mismatched: 0, failed: 0 });
    await on.sql`update bonus_campaign_rows set cost_base = cost_base + 1 where campaign_id = ${id}`;
    expect(await compareBudgets(service.platform, tenant_id)).toEqual({ mismatched: 2, failed: 0 });
    await on.sql`update bonus_campaign_rows set cost_base = cost_base - 1 where campaign_id = ${id}`;
    // Nobody else gets what is held.
    const [other = ''] = await on.client.players(1);
    expect((await on.grant(template_id, other)).code).toBe('BONUS_BUDGET_EXCEEDED');
    await release(on, id);
    const done = await on.reaches(id, ({ status }) => status === 'issued');
    expect(done).toMatchObject({ stats: { granted: 3 }, cost: { granted_base: 3_000, open_base: 3_000 } });
    expect(await on.sql`select from bonus_campaign_terms where campaign_id = ${id}`).toHaveLength(0);
    expect(await compareBudgets(service.platform, tenant_id)).toEqual({ mismatched: 0, failed: 0 });
  });

  it('is skipped when another grant has taken its place, and gives back what was held', async () => {
    const on = await fresh();
    const template_id = await on.template({ max_grants_per_player: 1, exclusion_group: 'welcome' });
    const sibling = await on.template({ exclusion_group: 'welcome' });
    const players = await on.client.players(4);
    const [same = '', group = '', busy = ''] = players;
    const id = await reserved(on, template_id, players);
    expect((await on.grant(template_id, same)).status).toBe(201);
    expect((await on.grant(sibling, group)).status).toBe(201);
    await on.config({ grants_per_day: 2 });
    for (let i = 0; i < 2; i++) expect((await on.grant(await on.template(), busy)).status).toBe(201);
    await consistent(on, id);
    await release(on, id);
    const done = await on.reaches(id, ({ status }) => status === 'issued');
    expect(done.stats).toEqual({ pending: 0, granted: 1, skipped: 3, failed: 0 });
    expect(await Promise.all(players.map((player) => codeOf(on, id, player)))).toEqual([
      'ALREADY_GRANTED',
      'ALREADY_GRANTED',
      'VELOCITY',
      'granted',
    ]);
    expect(await usedBy(on, id)).toEqual(['1000', 1]);
    await consistent(on, id);
  });

  it('of two campaigns is granted once', async () => {
    const on = await fresh();
    const template_id = await on.template({ max_grants_per_player: 1 });
    const players = await on.client.players(20);
    const ids = [await reserved(on, template_id, players), await reserved(on, template_id, players)];
    await Promise.all(ids.map((id) => release(on, id)));
    let granted = 0;
    for (const id of ids) {
      const { stats, skips } = await on.reaches(id, ({ status }) => status === 'issued');
      granted += stats.granted;
      expect(skips['ALREADY_GRANTED'] ?? 0).toBe(20 - stats.granted);
      await consistent(on, id);
    }
    expect(granted).toBe(20);
  });

  it('who is protected or removed meanwhile is skipped with the reason', async () => {
    const on = await fresh();
    const players = await on.client.players(5);
    const [excluded, banned, resting, at_risk, deleted] = players as [string, string, string, string, string];
    const id = await reserved(on, await on.template(), players);
    const set = (player: string, change: string) =>
      on.sql.unsafe(`update players set ${change} where player_id = '${player}'`);
    await set(excluded, 'self_excluded = true');
    await set(banned, `status = 'banned'`);
    await set(resting, `cooldown_until = now() + interval '1 day'`);
    await set(at_risk, `custom_attributes = custom_attributes || '{"rg_risk": "strong"}'`);
    await set(deleted, 'deleted_at = now()');
    await release(on, id);
    const done = await on.reaches(id, ({ status }) => status === 'issued');
    expect(done.skips).toEqual({ SELF_EXCLUDED: 1, BANNED: 1, COOLDOWN: 1, AT_RISK: 1, CANCELLED: 1 });
    expect(await on.sql`select from bonus_grants where campaign_id = ${id}`).toHaveLength(0);
    expect(await usedBy(on, id)).toEqual(['0', 0]);
    await consistent(on, id);
  });

  it('keeps the terms of the decision, whatever becomes of the template', async () => {
    const on = await fresh();
    const template_id = await on.template({ max_bet_during_wagering: 500 });
    const players = await on.client.players(2);
    const id = await reserved(on, template_id, players);
    const changed = await on.client.api('PATCH', `/v1/bonus-templates/${template_id}`, {
      config: { amount: 9_000, currency: 'EUR' },
      max_bet_during_wagering: 100,
      max_grants_per_player: 1,
    });
    expect(changed.status).toBe(200);
    await release(on, id);
    await on.reaches(id, ({ status }) => status === 'issued');
    const grants = await on.client.api<Body[]>('GET', `/v1/bonus-grants?campaign_id=${id}`);
    expect(grants.data).toHaveLength(2);
    for (const grant of grants.data) {
      expect(grant).toMatchObject({ bonus_amount: 1_000, max_bet: 500, template_version: 1 });
    }
    await consistent(on, id);
  });

  it('has its grant at once when somebody asks for it, with the next share of the rate', async () => {
    const on = await fresh();
    const players = await on.client.players(3);
    const [asked = '', other = ''] = players;
    const id = await reserved(on, await on.template(), players);
    const { grant_id, outcome } = await ask(on, id, asked);
    expect(outcome).toBe('pending');
    const shown = await on.get(String(grant_id));
    expect(shown).toMatchObject({ id: grant_id, player_id: asked, status: 'pending' });
    // The rate is used up for an hour.
    const [due] = await on.sql<{ is_later: boolean }[]>`
      select next_attempt_at > now() + interval '50 minutes' as is_later from bonus_grants where grant_id = ${grant_id}`;
    expect(due?.is_later).toBe(true);
    expect((await ask(on, id, asked)).grant_id).toBe(grant_id);
    expect(await countOf(on, id, 'reserved')).toBe(2);
    await consistent(on, id);
    await on.patch(id, { status: 'paused' });
    expect(await ask(on, id, other)).toEqual({ grant_id: null, outcome: 'pending' });
    await until('the grant is taken back', async (saw) => saw(await countOf(on, id, 'reserved')) === 3);
    await consistent(on, id);
    await on.patch(id, { status: 'issuing' });
    await release(on, id);
    await on.reaches(id, ({ status }) => status === 'issued');
    expect(await ask(on, id, asked)).toEqual({ grant_id, outcome: 'granted' });
    await consistent(on, id);
  });
});

describe('a merge of players of whom one is reserved', () => {
  it('moves the row to the survivor, or leaves one of both without a grant', async () => {
    const on = await fresh();
    const [guest, twin] = [
      await identify(on, { anonymous_id: 'a' }),
      await identify(on, { anonymous_id: 'b' }),
    ];
    const [ann, bob] = [
      await identify(on, { external_id: 'ann' }),
      await identify(on, { external_id: 'bob' }),
    ];
    const id = await reserved(on, await on.template(), [guest, twin, bob]);
    expect(await identify(on, { anonymous_id: 'a', external_id: 'ann' })).toBe(ann);
    expect(await identify(on, { anonymous_id: 'b', external_id: 'bob' })).toBe(bob);
    expect(await usedBy(on, id)).toEqual(['3000', 3]);
    await consistent(on, id);
    await release(on, id);
    const done = await on.reaches(id, ({ status }) => status === 'issued');
    expect(done).toMatchObject({ stats: { granted: 2, skipped: 1 }, skips: { ALREADY_GRANTED: 1 } });
    expect(await Promise.all([ann, bob, twin].map((player) => codeOf(on, id, player)))).toEqual([
      'granted',
      'granted',
      'ALREADY_GRANTED',
    ]);
    await consistent(on, id);
    await hasNoStrayGrant(on, id);
  });
});

describe('a cancellation', () => {
  it('gives back what was held for reserved members', async () => {
    const on = await fresh();
    const players = await on.client.players(4);
    const id = await reserved(on, await on.template(), players);
    await on.patch(id, { status: 'cancelled' });
    const done = await on.reaches(id, ({ finished_at }) => finished_at !== null);
    expect(done).toMatchObject({ status: 'cancelled', skips: { CANCELLED: 4 }, cost: { open_base: 0 } });
    expect(await usedBy(on, id)).toEqual(['0', 0]);
    await consistent(on, id);
  });

  it('waits for a release that has begun, and ends its grants', async () => {
    const on = await fresh();
    const adapter = await on.adapter();
    await adapter.fake.control({ answer: { status: 429, body: '', headers: { 'retry-after': '3600' } } });
    const id = await reserved(on, await on.template(), await on.client.players(3));
    const ref = { tenant_id: on.tenant.tenant_id, project_id: on.tenant.project_id, campaign_id: id };
    let cancelled: Promise<unknown> | undefined;
    await service.platform.postgres.service.begin(async (tx) => {
      const campaign = await lockPart(tx, ref, 'release', true);
      if (campaign === undefined) throw new Error('the campaign is not being issued');
      const now = new Date();
      const released = await releaseMembers(tx, campaign, { limit: 2, now, due_at: now });
      expect(released).toEqual({ released: 2, skipped: 0 });
      cancelled = on.patch(id, { status: 'cancelled' });
      await statementWaits(on.sql, tx);
    });
    await cancelled;
    const done = await on.reaches(id, ({ finished_at }) => finished_at !== null);
    expect(done.skips).toEqual({ CANCELLED: 3 });
    expect(await usedBy(on, id)).toEqual(['0', 0]);
    await consistent(on, id);
    await hasNoStrayGrant(on, id);
    await adapter.close();
  });

  it('at the same time as releases gives everything back once', async () => {
    const on = await fresh();
    const template_id = await on.template();
    for (let round = 0; round < 4; round++) {
      const players = await on.client.players(60);
      const id = await reserved(on, template_id, players);
      await on.sql`update bonus_campaigns set rate_per_second = 40 where campaign_id = ${id}`;
      const loops = [1, 2].map(() => new CampaignRelease(service.platform));
      const racing = Promise.all([
        ...loops.map(async (loop) => {
          for (let i = 0; i < 4; i++) await loop.turn();
        }),
        ...players.slice(50).map((player) => ask(on, id, player)),
      ]);
      await release(on, id);
      await on.patch(id, { status: 'cancelled' });
      await racing;
      const done = await on.reaches(id, ({ finished_at }) => finished_at !== null);
      expect(done.stats.granted + (done.skips['CANCELLED'] ?? 0)).toBe(60);
      expect(done.stats.granted).toBeLessThan(60);
      await consistent(on, id);
      await hasNoStrayGrant(on, id);
    }
  });
});
