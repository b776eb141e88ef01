import type { PlayerDependent } from '../../players/dependents.ts';
import type { MergePair, PlayerRef } from '../../players/player-ref.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { HOLDOUT_CODES } from './room.ts';

/**
 * Gives a player's rows of campaigns to the survivor, except where the survivor has one of its own: there the row stays
 * as it is, and one that is not decided is skipped, because the survivor is granted once. So is a reserved one, when it
 * would be released: then the limits get back what they hold, whose rows no merge waits for. A
 * person who was held out under one id gets nothing under the other: a reserved row is skipped when it would be released.
 */
async function moveRows(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
): Promise<void> {
  const other = tx`(select from bonus_campaign_rows o where o.player_id = ${into_player_id}
    and o.campaign_id = r.campaign_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id})`;
  const is_mine = tx`r.player_id = ${player_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}`;
  await Promise.all([
    tx`update bonus_campaign_rows r set status = 'skipped', code = 'ALREADY_GRANTED'
      where ${is_mine} and r.status = 'pending' and exists ${other}`,
    tx`update bonus_campaign_rows r set player_id = ${into_player_id} where ${is_mine} and not exists ${other}`,
    tx`update bonus_campaign_rows o set status = 'skipped', code = 'CANCELLED'
      where o.player_id = ${into_player_id} and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.status = 'pending' and exists (
          select from bonus_campaign_rows r
          where ${is_mine} and r.campaign_id = o.campaign_id and r.code = any(${plainArray(HOLDOUT_CODES)}::text::text[]))`,
  ]);
}

/** A deleted player gets nothing more of campaigns; a reserved one is skipped instead of being released. */
async function skipRows(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): Promise<void> {
  await tx`
    update bonus_campaign_rows r set status = 'skipped', code = 'CANCELLED'
    where r.player_id = ${player_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.status = 'pending'`;
}

/** What happens to rows of bonus campaigns when a player is merged or deleted. */
export const bonusCampaignsOfPlayers: PlayerDependent = { onMerge: moveRows, onDelete: skipRows };
