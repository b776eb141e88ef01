import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selectProtected } from '../../../src/bonuses/grants/admission-queries.ts';
import { correctBudgets, nextSlots, updateGrants } from '../../../src/bonuses/grants/apply-queries.ts';
import { countGrants } from '../../../src/bonuses/grants/issue-queries.ts';
import { lockBudgets, lockGrantPlayers, setBudgets } from '../../../src/bonuses/grants/reserve-queries.ts';
import { grantsOfPlayers } from '../../../src/bonuses/grants/merge-queries.ts';
import {
  markPublished,
  readEventsToPublish,
  selectToPublish,
} from '../../../src/bonuses/grants/publish-queries.ts';
import {
  listGrants,
  lockFree,
  lockGrant,
  selectGrant,
  selectHistory,
} from '../../../src/bonuses/grants/queries.ts';
import type { GrantFilters } from '../../../src/bonuses/grants/schema.ts';
import {
  claimGrants,
  readDueGrants,
  selectLiveGrants,
  selectWaitingLanes,
} from '../../../src/bonuses/grants/call-queries.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** Pages of the sweep that runs beside; a statement that reads all of the 20,000 rows by an index reads more blocks. */
const MOST_BLOCKS = 15_000;

let explained: ExplainedService;
beforeAll(async () => {
  // No processor: its statements would be seen beside those that are looked at.
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  await sql`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, granted_by_kind,
      terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency, bonus_amount,
      bonus_amount_base, wagering_required, next_attempt_at, is_protection_seen, created_at, updated_at)
    select ${tenant_id}, ${project_id}, md5('g' || i)::uuid, md5('t' || i % 5)::uuid, 1, md5('p' || i)::uuid, 'manual',
      '{}', 1, case when i % 4 = 0 then 'pending' else 'active' end, 'unsent', 'slug-' || i % 3, 'x', '{}', 'EUR', 1, 1, 0,
      case when i % 4 = 0 then now() + interval '1 hour' end, true, now() - i * interval '1 second', now()
    from generate_series(1, 20000) i`;
  await sql`
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, to_status, occurred_at,
      received_at, data, log_event, ingestion_id, is_to_publish)
    select ${tenant_id}, ${project_id}, md5('g' || i)::uuid, 1, 'bonus.credited', 'adapter', 'active', now(), now(), '{}',
      'bonus_claimed', gen_random_uuid(), i % 4000 = 0
    from generate_series(1, 20000) i`;
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read a whole table, or much. */
async function heavy(work: (tx: Tx) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(
    ({ blocks, scans }) => blocks > MOST_BLOCKS || scans.some((scan) => scan.startsWith('Seq Scan bonus_')),
  );
}

it.each(['without statistics', 'with statistics'])('%s statements read few of many grants', async (when) => {
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  if (when === 'with statistics') await explained.analyze();
  const project = { tenant_id, project_id };
  const [some] = await listGrants(sql, project, {}, undefined, 1);
  if (some === undefined) throw new Error('no grant');
  const { player_id, template_id } = some;
  const now = new Date();
  const later = new Date(now.getTime() + 7_200_000);
  const { template_id: counted_id } = some;
  const counted = {
    ...project,
    player_id,
    template_id: counted_id,
    exclusion_group: 'g',
    window_from: now,
    day_from: now,
  };
  const pair = { ...project, player_id, into_player_id: randomUUID() };
  const lists: GrantFilters[] = [
    {},
    { player_id },
    { template_id },
    { campaign_id: randomUUID() },
    { status: 'active' },
    { status: 'failed' },
    { needs_review: 'true' },
    { player_id, status: 'completed' },
  ];
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    ...lists.map((filters) => (tx: Tx) => listGrants(tx, project, filters, undefined, 10)),
    (tx) => listGrants(tx, project, {}, [String(Date.now() * 1_000 - 10_000_000_000), some.grant_id], 10),
    (tx) => selectGrant(tx, some),
    (tx) => lockGrant(tx, some),
    (tx) => selectHistory(tx, some, 10),
    (tx) => countGrants(tx, [counted]),
    // Requests, too, run with the settings of the API.
    ...[true, false].map((waits) => async (tx: Tx) => {
      await tx`set local enable_seqscan = on`;
      await lockGrantPlayers(tx, [some, { ...some, player_id: randomUUID() }], waits);
    }),
    async (tx) => {
      await tx`set local enable_seqscan = on`;
      expect(await lockFree(tx, project, [some.grant_id, randomUUID()])).toHaveLength(1);
      await countGrants(tx, [counted, counted]);
    },
    async (tx) => {
      const used = await lockBudgets(tx, [some]);
      await setBudgets(tx, [{ ...some, used_base: used.get(template_id) ?? 0n }]);
    },
    (tx) => selectWaitingLanes(tx, undefined, 10),
    (tx) => claimGrants(tx, { ...project, adapter_slug: 'slug-1' }, 2, later, later),
    (tx) => readDueGrants(tx, 10),
    (tx) => selectLiveGrants(tx, some.grant_id, 10),
    (tx) => selectProtected(tx, [some], now),
    async (tx) => markPublished(tx, await selectToPublish(tx, 5)),
    (tx) => readEventsToPublish(tx, 10),
    (tx) => nextSlots(tx, [some]),
    // Webhooks write with the settings of the API, which does not keep the planner from reading whole tables.
    async (tx) => {
      await tx`set local enable_seqscan = on`;
      expect(await lockFree(tx, project, [some.grant_id, randomUUID()])).toHaveLength(1);
      const written = await Promise.all(updateGrants(tx, [some]));
      expect(written.map(({ count }) => count)).toEqual([1]);
    },
    (tx) => Promise.all(correctBudgets(tx, [{ ...some, difference: 1n }])),
    (tx) => grantsOfPlayers.onMerge(tx, pair, now),
    async (tx) => grantsOfPlayers.onDelete?.(tx, { ...project, player_id }, now),
  ];
  for (const work of works) expect(await heavy(work)).toEqual([]);
});
