import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selectBettorKeys } from '../../../src/bonuses/wagering/bettor-queries.ts';
import {
  closeGrants,
  markRemoved,
  removeBets,
  removeBreaches,
  removeUntakenBets,
  selectOldGrants,
} from '../../../src/bonuses/wagering/clean-up-queries.ts';
import { selectCompleting, selectLiveWagering } from '../../../src/bonuses/wagering/completion-queries.ts';
import {
  addToGrants,
  deleteBreaches,
  insertBets,
  insertBreaches,
  lockGrants,
  selectBets,
  selectCandidates,
  selectProjectsWithGrants,
  updateBets,
} from '../../../src/bonuses/wagering/count-queries.ts';
import { contributionsOfPlayers } from '../../../src/bonuses/wagering/merge-queries.ts';
import { selectCurrencies } from '../../../src/bonuses/wagering/progress-queries.ts';
import {
  markCounted,
  markRecorded,
  selectBetsSince,
  selectDue,
  selectStrays,
  selectToLookUp,
  selectWithoutRate,
} from '../../../src/bonuses/wagering/recount-queries.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** What a statement about a page of a dozen rows may read of 12,000 grants and as many bets. */
const MOST_BLOCKS = 300;
const ROWS = 12_000;

let explained: ExplainedService;
beforeAll(async () => {
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  await sql`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, granted_by_kind,
      terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency, bonus_amount,
      bonus_amount_base, wagering_required, is_protection_seen, created_at, updated_at, activated_at, ended_at,
      counted_from, counted_until, are_bets_recorded)
    select ${tenant_id}, ${project_id}, md5('g' || i)::uuid, md5('t' || i % 5)::uuid, 1, md5('p' || i)::uuid, 'manual',
      '{"product": "any", "max_bet_action": "flag"}', 1, case when i % 2 = 0 then 'completed' else 'active' end,
      'confirmed', 'slug', 'x', '{}', 'EUR', 1, 1, 0, true, at, now(), at, case when i % 2 = 0 then at end,
      case when i % 100 = 0 then null else at end, case when i % 2 = 0 then at end, i % 100 <> 1
    from (select i, now() - i * interval '1 hour' as at from generate_series(1, ${ROWS}::integer) i) r`;
  await sql`
    insert into bonus_contributions (tenant_id, project_id, kind, bet_id, player_id, state, stake, currency, occurred_at,
      revision, grant_id, contribution)
    select ${tenant_id}, ${project_id}, 'casino', 'b' || i, md5('p' || i)::uuid, 'settled', 100, 'EUR',
      now() - i * interval '1 hour', 1, case when i % 3 > 0 then md5('g' || i)::uuid end,
      case when i % 3 > 0 and i % 200 > 1 then 100 end
    from generate_series(1, ${ROWS}::integer) i`;
  await sql`
    insert into bonus_breaches (tenant_id, project_id, grant_id, kind, bet_id, stake, max_bet, occurred_at, found_at)
    select ${tenant_id}, ${project_id}, md5('g' || i)::uuid, 'casino', 'b' || i, 2, 1, now(), now()
    from generate_series(1, ${ROWS}::integer) i`;
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read a whole table, or much. */
async function heavy(work: (tx: Tx) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(
    ({ blocks, scans }) => blocks > MOST_BLOCKS || scans.some((scan) => scan.startsWith('Seq Scan bonus_')),
  );
}

it.each(['without statistics', 'with statistics'])('%s statements read few of many bets', async (when) => {
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  if (when === 'with statistics') await explained.analyze();
  const project = { tenant_id, project_id };
  const now = new Date();
  const nil = '00000000-0000-0000-0000-000000000000';
  const [due] = await selectDue(sql, nil, 1);
  const [old] = await selectOldGrants(sql, now, 1);
  if (due === undefined || old === undefined) throw new Error('no grant');
  const names = Array.from({ length: 10 }, (_, i) => ({
    kind: 'casino' as const,
    bet_id: `b${100 + 7 * i}`,
  }));
  const bets = await sql.begin((tx) => selectBets(tx, project, names, false));
  const breaches = bets.map((bet) => ({
    ...bet,
    grant_id: bet.grant_id ?? randomUUID(),
    stake: 2n,
    max_bet: 1n,
  }));
  const sums = breaches.map(({ grant_id }) => ({ grant_id, added: 1n, breaches: 1, is_forfeited: false }));
  const players = bets.map(({ player_id }) => ({ player_id, since_ms: 0 }));
  const after = { kind: 'casino' as const, bet_id: 'b1', occurred_at: new Date(0) };
  const pair = { ...project, player_id: randomUUID(), into_player_id: due.player_id };
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => selectProjectsWithGrants(tx, [project]),
    (tx) => selectCandidates(tx, project, players),
    (tx) => selectBettorKeys(tx, 20),
    (tx) =>
      lockGrants(
        tx,
        project,
        sums.map(({ grant_id }) => grant_id),
      ),
    (tx) => selectBets(tx, project, names, true),
    (tx) =>
      insertBets(
        tx,
        project,
        bets.map((bet) => ({ ...bet, bet_id: randomUUID() })),
      ),
    (tx) => updateBets(tx, project, bets),
    (tx) => addToGrants(tx, project, sums, now),
    (tx) => insertBreaches(tx, project, breaches, now),
    (tx) => deleteBreaches(tx, project, breaches),
    (tx) => selectCompleting(tx, project, ['slug']),
    (tx) => selectLiveWagering(tx, nil, 10),
    (tx) => selectDue(tx, nil, 10),
    (tx) => selectToLookUp(tx, nil, 10, 86_400_000),
    (tx) => selectBetsSince(tx, due, undefined, 10),
    (tx) => selectBetsSince(tx, due, after, 10),
    (tx) => selectStrays(tx, due, 10),
    (tx) => markCounted(tx, [due]),
    (tx) => markRecorded(tx, [due]),
    (tx) => selectWithoutRate(tx, undefined, 10),
    (tx) => selectWithoutRate(tx, { ...project, kind: 'casino', bet_id: 'b5' }, 10),
    (tx) => selectCurrencies(tx, project, ['EUR']),
    (tx) => contributionsOfPlayers.onMerge(tx, pair, now),
    (tx) => selectOldGrants(tx, now, 10),
    (tx) => closeGrants(tx, [old], now),
    (tx) => removeBets(tx, old, 10),
    (tx) => removeBreaches(tx, old, 10),
    (tx) => removeUntakenBets(tx, old, now, 10),
    (tx) => markRemoved(tx, old),
  ];
  for (const work of works) expect(await heavy(work)).toEqual([]);
});
