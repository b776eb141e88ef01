import { retryConflicts } from '../platform/postgres/retry.ts';
import { resolvePlayers } from './dirty-player-queries.ts';
import { markDependentsDirty } from './dirty-players.ts';
import { lockMembership } from './lock-queries.ts';
import { changeMemberships } from './membership-queries.ts';
import { markComputed, markFailed, noteProgress, selectLiveSegment, type SegmentRef } from './queries.ts';
import type { RefreshDeps } from './refresh.ts';
import { MAX_CHANGED } from './verdict.ts';

/** Players of a list. */
export const MAX_LIST_PLAYERS = 1_000_000;

/** The players of a list, counted, and in pages. */
export interface ListedPlayers {
  total: number;
  /** Some ids at a time, each page at most about 100,000. */
  pages: AsyncIterable<readonly string[]>;
}

/**
 * Writes the list of a frozen segment, in transactions of 5,000 players, under the lock of the segment. `read` finds the
 * players once the lock is held. A player that was merged meanwhile is replaced by its survivor, and one that is deleted is
 * omitted. Once it is written, it is never written again. After a crash it is read and written from the beginning: players
 * that were written before stay. Does nothing when the segment was deleted. What rejects is kept in `last_error`.
 */
export async function fillFrozenSegment(
  { postgres, clock, logger }: Pick<RefreshDeps, 'postgres' | 'clock' | 'logger'>,
  ref: SegmentRef,
  read: () => Promise<ListedPlayers>,
): Promise<void> {
  const { segment_id, ...project } = ref;
  const { service } = postgres;
  try {
    await postgres.patientSession(async (session) => {
      await lockMembership(session, ref);
      const isToBeWritten = async () => (await selectLiveSegment(service, ref))?.last_computed_at === null;
      if (!(await isToBeWritten())) return;
      const now = new Date(clock.now_ms());
      const started_at = now.toISOString();
      await noteProgress(service, ref, { phase: 'comparing', started_at, done: 0, total: null });
      const { total, pages } = await read();
      let done = 0;
      for await (const page of pages) {
        if (!(await isToBeWritten())) return;
        for (let from = 0; from < page.length; from += MAX_CHANGED) {
          const part = page.slice(from, from + MAX_CHANGED);
          await retryConflicts(() =>
            session.begin(async (tx) => {
              const { player_ids } = await resolvePlayers(tx, project, part);
              const members = player_ids.map((player_id) => ({ segment_id, player_id }));
              await noteProgress(tx, ref, { phase: 'writing', started_at, done, total });
              await changeMemberships(tx, project, members, [], now, true);
              await markDependentsDirty(tx, project, members, now);
            }),
          );
          done += part.length;
        }
      }
      await session.begin((tx) => markComputed(tx, ref, now));
    });
  } catch (error) {
    const message = error instanceof Error ? error.message.slice(0, 1_000) : 'unknown';
    logger.warn({ err: error, segment_id }, 'writing a list failed');
    await markFailed(service, ref, message, new Date(clock.now_ms())).catch((cause: unknown) =>
      logger.warn({ err: cause, segment_id }, 'the reason of a failed list could not be stored'),
    );
    throw error;
  }
}
