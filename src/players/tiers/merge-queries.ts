import { TIER_REQUESTS_CHANNEL } from '../../ledger/tier-thresholds/queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { PlayerDependent } from '../dependents.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { MergePair, PlayerRef } from '../player-ref.ts';

/**
 * Tiers of players. After a merge the higher tier of the two players stays, a lock of either player stays in force, and the
 * histories become one; then the ordinary rules go on with the sum of the totals, which may cross what a tier requires.
 */
export const tiersOfPlayers: PlayerDependent = {
  onCreate: leaveNewcomersToSweep,
  beforeMerge: keepHigherTier,
  async onMerge(tx, pair, _now) {
    const { tenant_id, project_id, player_id, into_player_id } = pair;
    await Promise.all([
      tx`
        update player_tier_history h set player_id = ${into_player_id}
        where h.player_id = ${player_id} and h.tenant_id = ${tenant_id} and h.project_id = ${project_id}`,
      removeDeadline(tx, pair),
      requestSurvivor(tx, { tenant_id, project_id, player_id: into_player_id }),
    ]);
  },
  async onDelete(tx, ref, _now) {
    await removeDeadline(tx, ref);
  },
};

/** Players without totals may fit a tier that requires none: the next daily sweep gives it. */
async function leaveNewcomersToSweep(tx: Tx, players: readonly PlayerRef[]): Promise<void> {
  await tx`
    insert into tier_deadlines as d (tenant_id, project_id, player_id, due_at)
    select n.tenant_id, n.project_id, n.player_id, now()
    from ${rowsOf(tx, 'n', players, { ...PROJECT_KEY, player_id: 'uuid' })}
    where exists (
      select from vip_tiers where tenant_id = ${players[0]?.tenant_id ?? null} and is_active
        and lifetime_deposit_subunit = 0 and lifetime_wagered_subunit = 0)
    on conflict (player_id, tenant_id, project_id) do update set due_at = least(d.due_at, excluded.due_at)`;
}

async function requestSurvivor(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): Promise<void> {
  await tx`
    with requested as (
      insert into tier_requests (tenant_id, project_id, player_id)
      select ${tenant_id}, ${project_id}, ${player_id}
      where exists (select from vip_tiers where tenant_id = ${tenant_id})
      returning 1
    )
    select pg_notify(${TIER_REQUESTS_CHANNEL}, '') from requested`;
}

async function removeDeadline(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): Promise<void> {
  await tx`
    delete from tier_deadlines
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Gives the survivor the tier of the other player if its rank is higher; that is a reset in the history. */
async function keepHigherTier(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  const pair = [
    { player_id, is_gone: true },
    { player_id: into_player_id, is_gone: false },
  ];
  await tx`
    with pair as (
      select u.is_gone, p.current_tier_code as code, p.tier_promoted_at, p.tier_locked, p.tier_pending_code,
        t.tier_demoted_at,
        case when p.current_tier_code is null then -2 else coalesce(v.rank, -1) end as rank
      from ${rowsOf(tx, 'u', pair, { player_id: 'uuid', is_gone: 'boolean' })}
      cross join lateral (
        select * from players p where p.player_id = u.player_id and p.tenant_id = ${tenant_id}
          and p.project_id = ${project_id} offset 0) p
      cross join lateral (
        select * from player_totals t where t.player_id = u.player_id and t.tenant_id = ${tenant_id}
          and t.project_id = ${project_id} offset 0) t
      left join lateral (
        select v.rank from vip_tiers v where v.tenant_id = ${tenant_id} and v.code = p.current_tier_code
        offset 0) v on true
    ), kept as (
      select own.code as from_code, gone.tier_locked, gone.rank > own.rank as rises,
        gone.code, gone.tier_promoted_at, gone.tier_demoted_at, gone.tier_pending_code
      from pair gone, pair own where gone.is_gone and not own.is_gone
    ), noted as (
      insert into player_tier_history (tenant_id, project_id, player_id, from_code, to_code, trigger, context, occurred_at)
      select ${tenant_id}, ${project_id}, ${into_player_id}, from_code, code, 'reset',
        json_build_object('cause', 'merge', 'merged_player_id', ${player_id}::text), ${now}
      from kept where rises
    ), demoted as (
      update player_totals t set tier_demoted_at = k.tier_demoted_at
      from kept k
      where k.rises and t.player_id = ${into_player_id} and t.tenant_id = ${tenant_id} and t.project_id = ${project_id}
    )
    update players p set
      current_tier_code = case when k.rises then k.code else p.current_tier_code end,
      tier_promoted_at = case when k.rises then k.tier_promoted_at else p.tier_promoted_at end,
      tier_pending_code = case when k.rises then k.tier_pending_code else p.tier_pending_code end,
      tier_locked = p.tier_locked or k.tier_locked
    from kept k
    where (k.rises or k.tier_locked)
      and p.player_id = ${into_player_id} and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
}
