import type { Tx } from '../../platform/postgres/port.ts';
import { recordExclusions } from './record-queries.ts';

interface Pair {
  tenant_id: string;
  project_id: string;
  player_id: string;
  into_player_id: string;
}

async function endExclusions(
  tx: Tx,
  { tenant_id, project_id, player_id }: Omit<Pair, 'into_player_id'>,
  now: Date,
): Promise<void> {
  await tx`
    update player_exclusions set ended_at = ${now}, end_source = 'merge'
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id} and ended_at is null
      and coalesce(ends_at, 'infinity') > ${now}`;
}

/**
 * The records of a player that is merged away stay its own and end with it; what of them is still in force goes on in
 * records of the survivor, whose row has it by now.
 */
async function moveExclusions(tx: Tx, { into_player_id, ...gone }: Pair, now: Date): Promise<void> {
  const survivor = { ...gone, player_id: into_player_id, source: 'merge' as const };
  await Promise.all([endExclusions(tx, gone, now), recordExclusions(tx, [survivor], now)]);
}

/** What happens to the records of exclusions when a player is merged. */
export const exclusionsOfPlayers = { onMerge: moveExclusions };
