import type { Tx } from '../platform/postgres/port.ts';
import type { MergePair, PlayerRef } from './player-ref.ts';

/**
 * What a room above does with its rows of a player. Both calls run inside the transaction that changes the player, after
 * its row is locked: they issue their statements at once and await no one outside Postgres.
 */
export interface PlayerDependent {
  /** Gives the rows of `player_id` to `into_player_id`, which may have rows of its own. */
  onMerge(tx: Tx, pair: MergePair, now: Date): Promise<void>;
  /** Ends what the deleted player takes part in. */
  onDelete?(tx: Tx, ref: PlayerRef, now: Date): Promise<void>;
}
