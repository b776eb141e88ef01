import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertBonusCampaign } from '../../src/bonuses/campaigns/queries.ts';
import { NO_FAULTS } from '../bonuses/fake-platform.ts';
import { until } from '../engines/until.ts';
import { BonusHarness } from './bonus-harness.ts';
import { EFFORT, runs, SEED } from '../engines/effort.ts';
import { Random } from './random.ts';

/** By night the process is killed every 2 s until all is granted, at most so often; otherwise at drawn moments. */
const KILLS = runs(8, { nightly: 40 });
const KILL_EVERY_MS = 2_000;
const IS_NIGHT = EFFORT === 'nightly';
const MEMBERS = runs(2_000, { quick: 2_000, nightly: 20_000 });
const EXCLUDED = 20;
/** Grants of EUR 10 that the campaign's limit has room for; half a grant is left. */
const ROOM = MEMBERS / 2;

/** By night: a platform that takes 20 ms and fails for one call in twenty. */
const FAULTS = IS_NIGHT
  ? { delay_ms: 40, error_after: 0.03, lost: 0.02 }
  : { delay_ms: 30, error_after: 0.1, lost: 0.05, drop: 0.1 };

let harness: BonusHarness;
beforeAll(async () => {
  harness = await BonusHarness.open();
});
afterAll(async () => harness?.close());

/** A campaign that is due, over a segment of players of whom the first are excluded. */
async function dueCampaign() {
  const { sql } = harness;
  const { project, template_id } = await harness.newProject();
  const { tenant_id, project_id } = project;
  const [segment_id, campaign_id] = [randomUUID(), randomUUID()];
  await sql`
    insert into segments (tenant_id, project_id, segment_id, name, definition, refresh_strategy, reads, defined_at,
      created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${segment_id}, 'S', '{}', 'manual', '{}', now(), now(), now())`;
  await sql`
    with added as (
      insert into players (tenant_id, project_id, player_id, default_currency_code, self_excluded, created_at, updated_at)
      select ${tenant_id}, ${project_id}, gen_random_uuid(), 'EUR', n <= ${EXCLUDED}, now(), now()
      from generate_series(1, ${MEMBERS}) n
      returning player_id)
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select ${tenant_id}, ${project_id}, ${segment_id}, player_id, now() from added`;
  const now = new Date();
  const plan = {
    name: 'everyone',
    template_id,
    segment_id,
    deposit_amount: null,
    deposit_from: null,
    qualifying_product: null,
    holdout_percent: 0,
    advertising: 'direct',
    currency_override: null,
    schedule_at: now,
    max_liability: BigInt(ROOM * 1_000 + 500),
    max_grants: null,
    rate_per_second: null,
    daily_budget_base: null,
    pace: 'even',
    status: 'scheduled',
  } as const;
  await insertBonusCampaign(sql, { ...project, campaign_id }, plan, now);
  return { campaign_id };
}

/** Resolves once so many calls were begun from now on. */
async function calledMore(more: number): Promise<void> {
  const calls = async () => {
    const [row] = await harness.sql<{ calls: number }[]>`
      select coalesce(sum(calls), 0)::integer as calls from bonus_grants`;
    return row?.calls ?? 0;
  };
  const before = await calls();
  await until(async (saw) => saw(await calls()) >= before + more);
}

it(
  'grants to every member once, within the limit, whenever the process is killed',
  async () => {
    const { sql, fake } = harness;
    const { campaign_id } = await dueCampaign();
    await fake.control({
      faults: { ...NO_FAULTS, seed: SEED, ...FAULTS },
    });
    const random = new Random(SEED);
    const seen = new Set<string>();
    for (let kill = 0; kill < KILLS; kill++) {
      const stop = await harness.startSender();
      // At first at any moment of issuing, then after any number of calls.
      if (IS_NIGHT) await sleep(KILL_EVERY_MS);
      else if (kill < KILLS / 2) await sleep(random.integer(0, 400));
      else await calledMore(random.integer(1, 150));
      await stop();
      await harness.endClaims();
      // At every moment the limit holds what the grants and the reserved members cost.
      const [row] = await sql<{ used: string; cost: string; grants: number; rows: number; status: string }[]>`
        select c.status, coalesce((select b.used_base from bonus_campaign_budgets b
            where b.campaign_id = c.campaign_id), 0)::text as used,
          ((select coalesce(sum(bonus_amount_base), 0) from bonus_grants)
            + (select coalesce(sum(cost_base), 0) from bonus_campaign_rows where status = 'reserved'))::text as cost,
          (select count(*)::integer from bonus_grants) as grants,
          (select count(*)::integer from bonus_campaign_rows where grant_id is not null) as rows
        from bonus_campaigns c where c.campaign_id = ${campaign_id}`;
      expect(row?.used).toBe(row?.cost);
      expect(row?.rows).toBe(row?.grants);
      seen.add(row?.status ?? '');
      if (row?.status === 'issued') break;
    }
    // Some kills came while it was being issued.
    expect(seen).toContain('issuing');
    await fake.control({ faults: NO_FAULTS });
    const stop = await harness.startSender();
    try {
      await harness.drained();
    } finally {
      await stop();
    }
    const { bonuses } = await fake.ledger();
    expect(bonuses).toHaveLength(ROOM);
    expect(bonuses.filter(({ credits }) => credits !== 1)).toEqual([]);
    const rows = await sql<{ status: string; code: string | null; members: number; players: number }[]>`
      select r.status, r.code, count(*)::integer as members, count(distinct r.player_id)::integer as players
      from bonus_campaign_rows r group by 1, 2 order by members desc`;
    expect([...rows]).toEqual([
      { status: 'granted', code: null, members: ROOM, players: ROOM },
      {
        status: 'skipped',
        code: 'BUDGET',
        members: MEMBERS - EXCLUDED - ROOM,
        players: MEMBERS - EXCLUDED - ROOM,
      },
      { status: 'skipped', code: 'SELF_EXCLUDED', members: EXCLUDED, players: EXCLUDED },
    ]);
    const grants = await sql<{ status: string; outcome: string; grants: number; players: number }[]>`
      select status, outcome, count(*)::integer as grants, count(distinct player_id)::integer as players
      from bonus_grants group by 1, 2`;
    expect([...grants]).toEqual([{ status: 'active', outcome: 'confirmed', grants: ROOM, players: ROOM }]);
    const [used] = await sql<{ campaign: string; grants: number; template: string; status: string }[]>`
      select b.used_base::text as campaign, b.used_grants as grants, t.used_base::text as template, c.status
      from bonus_campaigns c join bonus_campaign_budgets b using (tenant_id, project_id, campaign_id)
      join bonus_budgets t using (tenant_id, project_id, template_id)`;
    const cost = String(ROOM * 1_000);
    expect(used).toEqual({ campaign: cost, grants: ROOM, template: cost, status: 'issued' });
    // Some calls were lost, and asked about.
    const [lost] = await sql<{ grants: number }[]>`
      select count(*)::integer as grants from bonus_grants where calls > 1`;
    expect(lost?.grants).toBeGreaterThan(0);
  },
  120_000 + KILLS * 10_000,
);
