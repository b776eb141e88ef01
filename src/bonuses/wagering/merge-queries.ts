import type { PlayerDependent } from '../../players/dependents.ts';
import type { MergePair } from '../../players/player-ref.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * Makes the grants of the survivor due, which has more bets and more grants than before: all of their bets are counted
 * again, also those that were not recorded because their player had no grant. The bets of the merged player keep its id
 * until the Recounter has them, page by page, so that a merge is short however many there are. The grants are locked
 * already: their folder comes first.
 */
async function recountGrants(tx: Tx, { tenant_id, project_id, into_player_id }: MergePair): Promise<void> {
  await tx`
    update bonus_grants g set counted_from = null, are_bets_recorded = false, recount_seq = g.recount_seq + 1
    where g.player_id = ${into_player_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      and (g.ended_at is null or g.wagering_record = 'open')`;
}

/** What happens to the wagering of bonuses when players are merged. */
export const contributionsOfPlayers: PlayerDependent = { onMerge: recountGrants };
