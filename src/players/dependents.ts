import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { MergePair, PlayerRef } from './player-ref.ts';

/**
 * Callbacks of a folder that has rows of its own for players, such as segments. They run in the transaction that
 * changes the player, after its row is locked. They must issue their statements at once and wait for nothing but
 * Postgres.
 */
export interface PlayerDependent {
  /** Notes players of one tenant that identify has made. */
  onCreate?(tx: Tx, players: readonly PlayerRef[]): Promise<void>;
  /** Decides what of the two profiles stays, while both rows still exist. */
  beforeMerge?(tx: Tx, pair: MergePair, now: Date): Promise<void>;
  /** Moves the rows of `player_id` to `into_player_id`, which may have rows of its own. */
  onMerge(tx: Tx, pair: MergePair, now: Date): Promise<void>;
  /** Ends what the deleted player takes part in, such as memberships. */
  onDelete?(tx: Tx, ref: PlayerRef, now: Date): Promise<void>;
}

/** A person who is to be forgotten. */
export interface ErasedPerson extends ProjectRef {
  /** The id of the player, and then those of the players merged into it. */
  player_ids: readonly string[];
  /** What the audit log says instead of the text about the person. */
  erasure_id: string;
}

/**
 * Removes what a folder's rows say of a person, in transactions of the service role. What is needed by law or for sums
 * stays, under the ids.
 */
export interface Eraser {
  /** What is erased: the name of the step. */
  step: string;
  /**
   * Erases at most about `limit` rows; resolves with how many were changed, and with 0 when nothing is left that may be
   * erased now. It is repeated until then, and once more when everything else has come to rest.
   */
  erase(tx: Tx, person: ErasedPerson, limit: number): Promise<number>;
  /** How many rows are still in use, so that the erasure has to wait for them. Absent: never any. */
  inUse?(tx: Tx, person: ErasedPerson): Promise<number>;
}

/** A file of what is given to a person about the person: one JSON object a line. */
export interface PlayerFile {
  /** The name of the file without its ending. */
  name: string;
  /**
   * A page of the lines, from those after a position on; each line with its position. A page with fewer than `limit` lines is
   * the last one.
   */
  page(
    tx: Tx,
    person: Omit<ErasedPerson, 'erasure_id'>,
    after: string | null,
    limit: number,
  ): Promise<readonly FileLine[]>;
}

/** A line of a {@link PlayerFile}. */
export interface FileLine {
  /** Orders the lines of a file. */
  position: string;
  line: string;
}
