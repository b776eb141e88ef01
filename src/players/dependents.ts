import type { Tx } from '../platform/postgres/port.ts';
import type { MergePair, PlayerRef } from './player-ref.ts';

/**
 * Callbacks of a folder that has rows of its own for players, such as segments. They run in the transaction that
 * changes the player, after its row is locked. They must issue their statements at once and wait for nothing but
 * Postgres.
 */
export interface PlayerDependent {
  /** Notes a player that identify has made. */
  onCreate?(tx: Tx, ref: PlayerRef): Promise<void>;
  /** Decides what of the two profiles stays, while both rows still exist. */
  beforeMerge?(tx: Tx, pair: MergePair, now: Date): Promise<void>;
  /** Moves the rows of `player_id` to `into_player_id`, which may have rows of its own. */
  onMerge(tx: Tx, pair: MergePair, now: Date): Promise<void>;
  /** Ends what the deleted player takes part in, such as memberships. */
  onDelete?(tx: Tx, ref: PlayerRef, now: Date): Promise<void>;
}
