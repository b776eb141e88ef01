import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  closeGrants,
  markRemoved,
  removeBets,
  removeBreaches,
  removeUntakenBets,
  selectOldGrants,
} from './clean-up-queries.ts';

/**
 * For how long after its end a grant's bets are kept: a bet may change for 90 days, and be recorded for 7 days after the
 * end.
 */
const RETENTION_MS = 97 * 86_400_000;
/** Grants per page. */
const MAX_GRANTS = 100;

/**
 * Removes the bets and breaches of grants that ended 97 days ago, bets of their players that no grant took, and what
 * sandboxes kept of these grants. The sum and the number of breaches stay on the grant, and no bet changes them any more.
 */
export async function cleanUpWagering(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const { service } = postgres;
  const before = new Date(clock.now_ms() - RETENTION_MS);
  let [grants, bets] = [0, 0];
  for (;;) {
    const page = await selectOldGrants(service, before, MAX_GRANTS);
    if (page.length > 0) await service.begin((tx) => closeGrants(tx, page, before));
    for (const grant of page) {
      bets += await inBatches((limit) => removeBets(service, grant, limit), stop);
      bets += await inBatches((limit) => removeUntakenBets(service, grant, before, limit), stop);
      await inBatches((limit) => removeBreaches(service, grant, limit), stop);
      if (stop?.aborted === true) return;
      await service.begin((tx) => markRemoved(tx, grant));
    }
    grants += page.length;
    if (page.length < MAX_GRANTS) break;
  }
  logger.info({ grants, bets }, 'removed the bets of bonuses that ended long ago');
}
