import { plainArray } from '../../platform/postgres/arrays.ts';
import type { PlayerDependent } from '../../players/dependents.ts';
import type { MergePair, PlayerRef } from '../../players/player-ref.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * Gives the grants of a player that is merged away to the survivor; the platform goes on to know each by the id that it
 * was sent. A grant whose place the survivor's grants have takes one after all of them, and somebody has to look at it;
 * so does a live one of an exclusion group of which the survivor has one, which then belongs to no group. What both cost
 * stays the same.
 *
 * A statement of its own locks the rows first, so that the next one sees what other transactions have changed.
 */
async function moveGrants(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  const isOf = (row: string, player: string) =>
    tx`${tx(row)}.player_id = ${player} and ${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id}`;
  const both = [player_id, into_player_id].sort();
  const names = plainArray(both.map((id) => `"bonus grants ${project_id} ${id}"`));
  await Promise.all([
    // As each grant to one of them does.
    tx`select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${names}::text::text[]) as n (name)`,
    tx`select from bonus_grants g where ${isOf('g', player_id)} or ${isOf('g', into_player_id)}
      order by g.grant_id for no key update`,
    tx`
      update bonus_grants g set
        player_id = ${into_player_id},
        merged_from = coalesce(g.merged_from, g.player_id),
        slot = m.slot,
        exclusion_group = case when m.in_group then null else g.exclusion_group end,
        needs_review = g.needs_review or m.slot <> g.slot or m.in_group,
        updated_at = ${now}
      from (
        select w.grant_id, case when k.is_taken then k.last + row_number() over (partition by w.template_id, k.is_taken
            order by w.slot, w.grant_id) else w.slot end as slot,
          exists (select from bonus_grants o where ${isOf('o', into_player_id)}
            and o.exclusion_group = w.exclusion_group and o.status in ('pending', 'active')
            and w.status in ('pending', 'active')) as in_group
        from bonus_grants w
        cross join lateral (
          select
            exists (select from bonus_grants o where ${isOf('o', into_player_id)} and o.template_id = w.template_id
              and o.slot = w.slot and o.status not in ('cancelled', 'failed')
              and w.status not in ('cancelled', 'failed')) as is_taken,
            (select max(o.slot) from bonus_grants o where o.player_id in (${player_id}, ${into_player_id})
              and o.template_id = w.template_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}) as last
          offset 0) k
        where ${isOf('w', player_id)}
      ) m
      where ${isOf('g', player_id)} and g.grant_id = m.grant_id`,
  ]);
}

/** What was not sent for a player who is deleted is not sent any more: the sender looks at it at once. */
async function hurryGrants(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  now: Date,
): Promise<void> {
  await tx`
    update bonus_grants g set next_attempt_at = ${now}, retry_early_at = null
    where g.player_id = ${player_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      and g.status = 'pending' and g.outcome = 'unsent'`;
}

/** What happens to bonus grants when a player is merged or deleted. */
export const grantsOfPlayers: PlayerDependent = { onMerge: moveGrants, onDelete: hurryGrants };
