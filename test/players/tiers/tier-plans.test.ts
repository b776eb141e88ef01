import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { recheckDaily, readThresholds, requestTiers } from '../../../src/ledger/tier-thresholds/queries.ts';
import { NIL_ID } from '../../../src/platform/ids.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { selectWaitingTenants } from '../../../src/platform/tenant-loop.ts';
import { recomputePlayers } from '../../../src/players/tiers/apply.ts';
import {
  readTierRequests,
  selectDueTiers,
  selectProjects,
  selectSeen,
  takeRequests,
} from '../../../src/players/tiers/job-queries.ts';
import { tiersOfPlayers } from '../../../src/players/tiers/merge-queries.ts';
import { selectPlayerTier, selectProjectOfPlayer } from '../../../src/players/tiers/player-tier-queries.ts';
import { listTiers, lockTiers, updateTier } from '../../../src/players/tiers/queries.ts';
import { listTierChanges } from '../../../src/players/tiers/tier-changes-queries.ts';
import { readTierRules } from '../../../src/players/tiers/tier-rules.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** Of 20,000 rows a statement that reads all of them reads far more blocks. */
const MOST_BLOCKS = 100;
/** The same for a statement over 10 players. */
const MOST_BLOCKS_OF_TEN = 250;
const SIZE = 20_000;

let explained: ExplainedService;
let players: { project_id: string; player_id: string }[];
beforeAll(async () => {
  explained = await startExplainedService();
  const { service } = explained;
  const { tenant_id, project_id } = service;
  const sql = service.platform.postgres.service;
  const each = sql`generate_series(1, ${SIZE}::integer) i`;
  const player = sql`md5(i::text)::uuid`;
  // The triggers and the retier job of real tiers are not wanted here.
  await sql`
    insert into tenants (tenant_id, name, base_currency) select md5('t' || i)::uuid, 't', 'EUR' from ${each}`;
  await sql`
    insert into vip_tiers (tenant_id, tier_id, code, name, rank, lifetime_deposit_subunit, lifetime_wagered_subunit,
      min_days_active, inactivity_days, grace_days, perks, is_active, created_at, updated_at)
    select t.tenant_id, gen_random_uuid(), 'tier_' || n, 'T', n, 0, n * 1000, 0, 30, 0, '{}', true, now(), now()
    from tenants t, generate_series(0, 2) n`;
  await sql`
    insert into players (tenant_id, project_id, player_id, anonymous_ids, default_currency_code, status,
      current_tier_code, tier_promoted_at, created_at, updated_at)
    select ${tenant_id}, ${project_id}, ${player}, '{}', 'EUR', 'active', 'tier_1', now(), now(), now() from ${each}`;
  await sql`
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, total_wagered, updated_at)
    select ${tenant_id}, ${project_id}, ${player}, now(), now() - i * interval '1 second', (i % 3) * 1000, now() from ${each}`;
  await sql`
    insert into player_tier_history (tenant_id, project_id, player_id, from_code, to_code, trigger, context, occurred_at)
    select ${tenant_id}, ${project_id}, ${player}, null, 'tier_1', 'auto', '{}', now() from ${each}`;
  await sql`
    insert into tier_deadlines (tenant_id, project_id, player_id, due_at)
    select ${tenant_id}, ${project_id}, ${player}, now() + i * interval '1 second' from ${each}`;
  const rows = await sql<{ player_id: string }[]>`
    select md5(i::text)::uuid as player_id from generate_series(1, 10) i`;
  players = rows.map(({ player_id }) => ({ project_id, player_id }));
  // Its statements read all of them once.
  await waitUntilCaughtUp(service.platform, 60_000);
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read many blocks. */
async function heavy(work: (tx: Tx) => Promise<unknown>, most = MOST_BLOCKS): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(({ blocks }) => blocks > most);
}

/** Fills the queue in the transaction: outside, tier-recomputer would take it away. */
async function queue(tx: Tx): Promise<void> {
  const { tenant_id, project_id } = explained.service;
  await tx`
    insert into tier_requests (tenant_id, project_id, player_id)
    select ${tenant_id}, ${project_id}, md5(i::text)::uuid from generate_series(1, ${SIZE}::integer) i`;
}

it.each(['without statistics', 'with statistics'])(
  '%s statements read few of many players, tiers and deadlines',
  async (when) => {
    const { tenant_id, project_id, platform } = explained.service;
    const sql = platform.postgres.service;
    if (when === 'with statistics') await explained.analyze();
    const [first] = players;
    if (first === undefined) throw new Error('no player');
    const one = { tenant_id, ...first };
    const pair = {
      tenant_id,
      project_id,
      player_id: one.player_id,
      into_player_id: String(players[1]?.player_id),
    };
    const now = new Date();
    const [tier] = await lockTiers(sql, tenant_id);
    if (tier === undefined) throw new Error('no tier');
    const seen = { listed_at: new Date(now.getTime() - 5_000_000).toISOString(), player_id: randomUUID() };
    const due = { due_at: now.toISOString(), player_id: randomUUID() };
    const works: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => readThresholds(tx, [tenant_id]),
      (tx) => listTiers(tx, tenant_id, undefined, 50),
      (tx) => lockTiers(tx, tenant_id),
      (tx) => updateTier(tx, tier),
      (tx) => readTierRules(tx, tenant_id, now),
      (tx) => selectProjects(tx, tenant_id),
      (tx) => selectProjectOfPlayer(tx, tenant_id, one.player_id),
      (tx) => selectPlayerTier(tx, one, 200),
      (tx) => listTierChanges(tx, { tenant_id, project_id }, {}, undefined, 20),
      (tx) => listTierChanges(tx, { tenant_id, project_id }, {}, [String(now.getTime() * 1_000), '5000'], 20),
      (tx) => selectSeen(tx, tenant_id, project_id, undefined, 10),
      (tx) => selectSeen(tx, tenant_id, project_id, seen, 10),
      (tx) => selectDueTiers(tx, new Date(now.getTime() + 9_000_000), undefined, 10),
      (tx) => selectDueTiers(tx, new Date(now.getTime() + 9_000_000), due, 10),
      (tx) => requestTiers(tx, [one]),
      (tx) => recheckDaily(tx, [one], now),
      async (tx) => tiersOfPlayers.onCreate?.(tx, [one]),
      async (tx) => tiersOfPlayers.beforeMerge?.(tx, pair, now),
      (tx) => tiersOfPlayers.onMerge(tx, pair, now),
      async (tx) => tiersOfPlayers.onDelete?.(tx, one, now),
    ];
    for (const work of works) expect(await heavy(work), String(work)).toEqual([]);
    const later_ms = now.getTime() + 90 * 86_400_000;
    const of_ten = (tx: Tx) => recomputePlayers(tx, tenant_id, players, later_ms);
    expect(await heavy(of_ten, MOST_BLOCKS_OF_TEN), 'ten players').toEqual([]);
  },
);

it.each(['without statistics', 'with statistics'])('%s the queue is read from its head', async (when) => {
  const { tenant_id } = explained.service;
  for (const work of [
    (tx: Tx) => selectWaitingTenants(tx, 'tier_requests', NIL_ID, 1_000),
    (tx: Tx) => takeRequests(tx, tenant_id, 10),
    (tx: Tx) => readTierRequests(tx, 10),
  ]) {
    const found = await heavy(async (tx) => {
      // Nothing vacuums what earlier rounds have rolled back.
      await tx.unsafe('set local role none; truncate tier_requests');
      await queue(tx);
      if (when === 'with statistics') await tx.unsafe('analyze tier_requests');
      await tx.unsafe('set local role engagement_service');
      await work(tx);
    });
    expect(found, String(work)).toMatchObject([
      { statement: expect.stringContaining('generate_series') as string },
    ]);
  }
});
