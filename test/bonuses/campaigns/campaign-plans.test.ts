import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertBonusCampaign } from '../../../src/bonuses/campaigns/queries.ts';
import { deleteFrozenTerms, selectFrozenTerms } from '../../../src/bonuses/campaigns/frozen-terms-queries.ts';
import { selectMemberGroups } from '../../../src/bonuses/campaigns/member-queries.ts';
import {
  countWaiting,
  lockReserved,
  resumePutOff,
  selectReleasing,
  selectReleasedTo,
} from '../../../src/bonuses/campaigns/release-queries.ts';
import { selectPending, updateRows } from '../../../src/bonuses/campaigns/reserve-queries.ts';
import { lockShortage, retryRows } from '../../../src/bonuses/campaigns/retry-queries.ts';
import { countRows } from '../../../src/bonuses/campaigns/stats-queries.ts';
import {
  endReserved,
  hasRows,
  lockPart,
  lockForStep,
  lockUnsent,
  selectDueBonusCampaigns,
  selectOpenCampaigns,
  skipPending,
  takeBackUnsent,
} from '../../../src/bonuses/campaigns/work-queries.ts';
import { nextSlots } from '../../../src/bonuses/grants/apply-queries.ts';
import {
  correctCampaignBudgets,
  updateCampaignRows,
} from '../../../src/bonuses/grants/campaign-settlement-queries.ts';
import type { GrantRow } from '../../../src/bonuses/grants/grant-row.ts';
import { countGrants } from '../../../src/bonuses/grants/issue-queries.ts';
import { retryEarly } from '../../../src/bonuses/grants/call-queries.ts';
import { NIL_ID } from '../../../src/platform/ids.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** A statement that reads all of the 20,000 members who were sent to the platform, or their grants, reads far more. */
const MOST_BLOCKS = 400;
const [campaign_id, template_id, terms_id] = [randomUUID(), randomUUID(), randomUUID()];

let explained: ExplainedService;
beforeAll(async () => {
  // The processors would go on with the campaign.
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  const plan = {
    name: 'many',
    template_id,
    segment_id: randomUUID(),
    deposit_amount: null,
    deposit_from: null,
    currency_override: null,
    schedule_at: null,
    max_liability: null,
    max_grants: null,
    rate_per_second: 5,
    daily_budget_base: null,
    pace: 'even',
    qualifying_product: null,
    holdout_percent: 0,
    advertising: 'direct',
    status: 'issuing',
  } as const;
  await insertBonusCampaign(sql, { tenant_id, project_id, campaign_id }, plan, new Date());
  await sql`update bonus_campaigns set is_filled = true, issued_at = now()`;
  await sql`
    insert into bonus_campaign_budgets (tenant_id, project_id, campaign_id, released_to)
    values (${tenant_id}, ${project_id}, ${campaign_id}, now())`;
  await sql`
    insert into bonus_campaign_terms (tenant_id, project_id, campaign_id, terms_id, terms, adapter_slug, currency,
      bonus_amount, bonus_amount_base, wagering_required)
    select ${tenant_id}::uuid, ${project_id}::uuid, ${campaign_id}::uuid,
      case when i = 1 then ${terms_id}::uuid else gen_random_uuid() end, '{}', 'casino', 'EUR', 1, 1, 0
    from generate_series(1, 20000) i`;
  // Accepted by the platform, which says the outcome later; ten are reserved, ten were released and not sent.
  await sql`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, campaign_id,
      granted_by_kind, terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency, bonus_amount,
      bonus_amount_base, wagering_required, next_attempt_at, created_at, updated_at)
    select ${tenant_id}::uuid, ${project_id}::uuid, md5('g' || i)::uuid, ${template_id}::uuid, 1, md5('p' || i)::uuid, ${campaign_id}::uuid,
      'campaign', '{}', 1, 'pending', case when i <= 20 then 'unsent' else 'confirmed' end, 'casino', 'x', '{}', 'EUR', 1, 1,
      0, now() + interval '1 hour', now(), now()
    from generate_series(11, 20000) i`;
  await sql`
    insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id, status, code, grant_id, terms_id,
      cost_base)
    select ${tenant_id}::uuid, ${project_id}::uuid, ${campaign_id}::uuid, md5('p' || i)::uuid, case when i <= 10 then 'reserved' else 'sent' end,
      null::text, case when i > 10 then md5('g' || i)::uuid end, ${terms_id}::uuid, 1
    from generate_series(1, 20000) i
    union all
    select ${tenant_id}::uuid, ${project_id}::uuid, ${campaign_id}::uuid, gen_random_uuid(), case when i <= 10 then 'pending' else 'skipped' end,
      case when i <= 10 then null else 'BUDGET' end, null, null, 0
    from generate_series(1, 5000) i`;
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read a whole table, or much. */
async function heavy(work: (tx: Tx) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(
    ({ statement, blocks, scans }) =>
      statement.includes('bonus_') &&
      (blocks > MOST_BLOCKS || scans.some((scan) => /^Seq Scan bonus_(grants|campaign_rows)/.test(scan))),
  );
}

it.each(['without statistics', 'with statistics'])('%s steps of a campaign read few rows', async (when) => {
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  const skipped = when === 'with statistics' ? 79_990 : 4_990;
  if (when === 'with statistics') {
    await sql`
      insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id, status, code)
      select ${tenant_id}::uuid, ${project_id}::uuid, ${campaign_id}::uuid, gen_random_uuid(), 'skipped', 'BUDGET'
      from generate_series(1, 75000)`;
    await explained.analyze();
  }
  const ref = { tenant_id, project_id, campaign_id };
  const now = new Date();
  // All grants are of one template, as after a large campaign.
  const newcomer = { tenant_id, project_id, template_id, player_id: randomUUID() };
  const counted = { ...newcomer, exclusion_group: 'group', window_from: null, day_from: now };
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    async (tx) =>
      expect(await selectOpenCampaigns(tx, { after: NIL_ID, limit: 10, now })).toMatchObject([
        { has_work: true },
      ]),
    async (tx) => expect(await selectReleasing(tx, NIL_ID, 10, now)).toHaveLength(1),
    async (tx) => {
      const none = { due: 0, put_off: 0, early: 0 };
      expect(await countWaiting(tx, ref, { most: 512, now })).toEqual({ waiting: 10, ...none });
    },
    async (tx) => {
      await tx`update bonus_grants set retry_early_at = ${now} where campaign_id = ${campaign_id} and outcome = 'unsent'`;
      await explained.executions();
      await retryEarly(tx, ref, 512);
      expect(await resumePutOff(tx, ref, { limit: 5, now, is_early: false })).toBe(5);
      expect(await resumePutOff(tx, ref, { limit: 2, now, is_early: true })).toBe(2);
    },
    async (tx) => expect(await lockReserved(tx, ref, { limit: 5 })).toHaveLength(5),
    async (tx) => expect(await lockReserved(tx, ref, { limit: 1, only: newcomer.player_id })).toEqual([]),
    async (tx) => expect(await selectFrozenTerms(tx, ref, [terms_id])).toHaveLength(1),
    async (tx) => expect(await deleteFrozenTerms(tx, ref, 5)).toBe(5),
    async (tx) => {
      const members = await lockReserved(tx, ref, { limit: 5 });
      const sent = members.map(({ member_id }) => ({
        player_ids: [member_id],
        status: 'sent' as const,
        grant_id: randomUUID(),
      }));
      await updateRows(tx, ref, 'reserved', sent);
    },
    async (tx) => expect(await takeBackUnsent(tx, ref, 5)).toEqual({ taken: 5, shares: 5 }),
    async (tx) =>
      expect(await endReserved(tx, ref, 15)).toEqual([{ assigned_at: null, grants: 10, base: 10n }]),
    async (tx) => expect(await lockUnsent(tx, ref, 5)).toHaveLength(5),
    async (tx) => {
      const ids = Array.from({ length: 20 }, () => randomUUID());
      const groups = await selectMemberGroups(tx, ref, ids, {
        segment_id: randomUUID(),
        has_rules: true,
        asks_for_money: true,
      });
      expect(groups).toMatchObject([{ player: null }]);
    },
    async (tx) => expect(await lockPart(tx, ref, 'release', false)).toMatchObject({ campaign_id }),
    async (tx) => expect(await skipPending(tx, ref, 5)).toBe(5),
    async (tx) => expect(await selectPending(tx, ref, { limit: 5 })).toHaveLength(5),
    async (tx) => expect(await retryRows(tx, ref, NIL_ID, 20)).toMatchObject({ rows: 20 }),
    async (tx) => {
      const counted = await countRows(tx, ref, [campaign_id]);
      const members = new Map(counted.map(({ status, code, rows }) => [`${status} ${code}`, rows]));
      expect(Object.fromEntries(members)).toEqual({
        'pending null': 10,
        'reserved null': 10,
        'sent null': 19_990,
        'skipped BUDGET': skipped,
      });
    },
    async (tx) =>
      expect(
        await countGrants(
          tx,
          Array.from({ length: 20 }, () => counted),
        ),
      ).toHaveLength(20),
    async (tx) => expect(await nextSlots(tx, [newcomer as GrantRow])).toEqual([1]),
    async (tx) => {
      const [member] = await tx<{ grant_id: string; player_id: string }[]>`
        select grant_id, player_id from bonus_campaign_rows r where r.campaign_id = ${campaign_id} and r.status = 'sent'
        limit 1`;
      if (member === undefined) throw new Error('no member');
      // Webhooks write with the settings of the API, which does not keep the planner from reading whole tables.
      await tx`set local enable_seqscan = on`;
      const row = { ...ref, ...member, updated_at: now, code: 'CANCELLED', is_by_protection: false };
      const settled = {
        ...row,
        status: 'skipped',
        cost_base: 0n,
        released_base: 0n,
        is_open: false,
      } as const;
      const written = await Promise.all([
        ...updateCampaignRows(tx, [settled]),
        ...correctCampaignBudgets(tx, [{ ...row, base: 1n, grants: 1 }]),
      ]);
      expect(written.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    },
    (tx) => selectReleasedTo(tx, ref),
    (tx) => lockShortage(tx, ref, template_id),
    (tx) => lockForStep(tx, ref),
    (tx) => hasRows(tx, ref, ['pending', 'reserved', 'sent']),
    (tx) => selectDueBonusCampaigns(tx, now, 20, [campaign_id]),
  ];
  for (const work of works) expect(await heavy(work)).toEqual([]);
});

it.each(['not known to the planner', 'known'])(
  'ends of a campaign whose members are %s read few of many',
  async (when) => {
    const { tenant_id, project_id, platform } = explained.service;
    const ended_id = randomUUID();
    const ref = { tenant_id, project_id, campaign_id: ended_id };
    await platform.postgres.service`
    insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id, status, code, terms_id, cost_base,
      is_open)
    select ${tenant_id}::uuid, ${project_id}::uuid, ${ended_id}::uuid, gen_random_uuid(), s.status,
      case s.status when 'skipped' then 'BUDGET' end, case s.status when 'reserved' then ${terms_id}::uuid end,
      case s.status when 'reserved' then 1 else 0 end, s.status = 'reserved'
    from generate_series(1, 20000), unnest(array['reserved', 'pending', 'skipped']) as s (status)`;
    if (when === 'known') await explained.analyze();
    const works: ((tx: Tx) => Promise<unknown>)[] = [
      async (tx) =>
        expect(await endReserved(tx, ref, 20)).toEqual([{ assigned_at: null, grants: 20, base: 20n }]),
      async (tx) => expect(await skipPending(tx, ref, 20)).toBe(20),
      async (tx) => expect(await retryRows(tx, ref, NIL_ID, 20)).toMatchObject({ rows: 20 }),
    ];
    for (const work of works) expect(await heavy(work)).toEqual([]);
  },
);

// Last, because it leaves rows of many pending members behind.
it('writing what was decided reads few of many pending members', async () => {
  const { tenant_id, project_id } = explained.service;
  const ref = { tenant_id, project_id, campaign_id };
  const decide = async (tx: Tx) => {
    await tx`update bonus_campaign_rows set status = 'pending', code = null where status = 'skipped'`;
    const [player_id = ''] = await selectPending(tx, ref, { limit: 1 });
    await explained.executions();
    await updateRows(tx, ref, 'pending', [{ player_ids: [player_id], status: 'skipped', code: 'BUDGET' }]);
  };
  expect(await heavy(decide)).toEqual([]);
});

it('a release reads no members who were released before, though an old snapshot keeps what they were', async () => {
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  const ref = { tenant_id, project_id, campaign_id: randomUUID() };
  await sql`
    insert into bonus_campaigns
    select (jsonb_populate_record(c, jsonb_build_object('campaign_id', ${ref.campaign_id}::text))).*
    from bonus_campaigns c where c.campaign_id = ${campaign_id}`;
  await sql`
    insert into bonus_campaign_rows (tenant_id, project_id, campaign_id, player_id, status, terms_id)
    select ${tenant_id}::uuid, ${project_id}::uuid, ${ref.campaign_id}::uuid, gen_random_uuid(), 'reserved',
      ${terms_id}::uuid from generate_series(1, 5000)`;
  const last = await sql<{ player_id: string }[]>`
    select player_id from bonus_campaign_rows where campaign_id = ${ref.campaign_id} order by player_id desc limit 11`;
  const [after = ''] = last.splice(10).map(({ player_id }) => player_id);
  await sql.begin('isolation level repeatable read', async (old) => {
    await old`select from bonus_campaign_rows limit 1`;
    await sql`
      update bonus_campaign_rows set status = 'sent', grant_id = gen_random_uuid()
      where campaign_id = ${ref.campaign_id} and player_id <= ${after}`;
    const works: ((tx: Tx) => Promise<unknown>)[] = [
      async (tx) => {
        const found = await selectReleasing(tx, NIL_ID, 10, new Date());
        expect(found).toContainEqual(expect.objectContaining({ ...ref, has_reserved: true }));
      },
      async (tx) => {
        const found = await lockReserved(tx, ref, { limit: 20, after });
        expect(found.map(({ member_id }) => member_id)).toEqual(
          last.map(({ player_id }) => player_id).reverse(),
        );
      },
    ];
    for (const work of works) expect(await heavy(work)).toEqual([]);
    // It can tell: from the first one on, all of them are read.
    expect(await heavy((tx) => lockReserved(tx, ref, { limit: 5 }))).toHaveLength(1);
  });
});
