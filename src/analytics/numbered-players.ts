import type { Tx } from '../platform/postgres/port.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import {
  numberPlayers,
  readChangedPlayers,
  type ChangedPlayer,
  type MirrorPosition,
} from './mirror-queries.ts';

/**
 * Players changed after `position`, in order, as {@link readChangedPlayers} reads them, each with a number. Numbers are
 * committed before the lines are read, so two processes that copy a player copy the same number, and a crash changes none.
 * May return fewer rows than there are; none only when there are none. Rejects, without giving numbers, when the server is
 * not the one that was started at `compared_with`: it may have an earlier state, which is to be compared first.
 */
export async function readNumberedPlayers(
  sql: Tx,
  position: MirrorPosition,
  limit: number,
  compared_with: string | undefined,
): Promise<ChangedPlayer[]> {
  for (;;) {
    const rows = await readChangedPlayers(sql, position, limit);
    const next = rows.findIndex(({ is_numbered }) => !is_numbered);
    if (next === -1) return rows;
    const unnumbered = rows.filter(({ is_numbered }) => !is_numbered);
    const is_same =
      compared_with !== undefined &&
      (await retryConflicts(() => numberPlayers(sql, unnumbered, compared_with)));
    if (!is_same) throw new Error('Postgres was started again: it is compared with ClickHouse first');
  }
}
