import type { Platform } from '../../platform/platform.ts';
import { selectBettorKeys } from './bettor-queries.ts';

/** The most grants, and the most players, whose records are distinguished by their keys. */
const MAX_BETTORS = 1_000;
/** How often it is looked whether few have bonuses by now. */
const LOOK_AGAIN_MS = 10_000;

/**
 * Makes a function that gives the keys on `player-events` of all players whose bets may count; undefined: all records have
 * to be read, because there are too many such players, or fewer records than players.
 *
 * It must be called when the records are on the log already. A grant that is stored after that is not among the keys, and
 * what is passed by for want of it is looked up once the grant is active: all that is on the log by then
 * ({@link Recounter.lookUp}). So is what a merge brings.
 */
export function bettorKeys({
  postgres,
  clock,
}: Pick<Platform, 'postgres' | 'clock'>): (waiting: number) => Promise<ReadonlySet<string> | undefined> {
  let looked_ms = -Infinity;
  let known = 0;
  return async (waiting) => {
    const now_ms = clock.now_ms();
    // Reading the players must not cost more than reading the records.
    if (waiting < known && now_ms - looked_ms < LOOK_AGAIN_MS) return undefined;
    looked_ms = now_ms;
    const keys = await selectBettorKeys(postgres.service, MAX_BETTORS);
    known = keys?.size ?? Infinity;
    return keys;
  };
}
