import type { Tx } from '../../../platform/postgres/port.ts';
import { isDataError, retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Platform } from '../../../platform/platform.ts';
import { cancelJourneySends } from '../../messaging/journey-send-queries.ts';
import { cancelDeliveries } from '../../webhooks/delivery-queries.ts';
import { failClaimed } from './advance-batch.ts';
import type { Definitions } from './definitions.ts';
import { exitRuns, type Exit } from './match-queries.ts';
import { lockResting, wakeRuns, type Wake } from './wake-queries.ts';

type Deps = Pick<Platform, 'postgres' | 'clock' | 'metrics' | 'logger'>;

/** Runs that one transaction wakes or ends. */
const MAX_WOKEN = 1_000;

/** Wakes and ends runs, 1,000 in a transaction. */
export async function writeMatches(
  deps: Deps,
  definitions: Definitions,
  { wakes = [], exits = [] }: { wakes?: readonly Wake[]; exits?: readonly Exit[] },
): Promise<void> {
  for (let from = 0; from < wakes.length; from += MAX_WOKEN) {
    await wake(deps, definitions, wakes.slice(from, from + MAX_WOKEN));
  }
  const { postgres, clock, metrics } = deps;
  for (let from = 0; from < exits.length; from += MAX_WOKEN) {
    const part = exits.slice(from, from + MAX_WOKEN);
    const ended = await retryConflicts(() =>
      postgres.service.begin((tx) => endByExit(tx, part, new Date(clock.now_ms()))),
    );
    metrics.journeyMatches.inc({ outcome: 'ended' }, ended);
  }
}

/** Wakes runs in one transaction. If Postgres refuses the data of one, halving finds it, and it fails. */
async function wake(deps: Deps, definitions: Definitions, wakes: readonly Wake[]): Promise<void> {
  const { postgres, clock, metrics, logger } = deps;
  const [first] = wakes;
  if (first === undefined) return;
  const now = new Date(clock.now_ms());
  try {
    // A statement of its own locks first, so that the next one sees what other transactions have changed.
    const [, woken] = await retryConflicts(() =>
      postgres.service.begin((tx) => Promise.all([lockResting(tx, wakes), wakeRuns(tx, wakes, now)])),
    );
    metrics.journeyMatches.inc({ outcome: 'woken' }, woken);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (wakes.length > 1) {
      const middle = Math.ceil(wakes.length / 2);
      await wake(deps, definitions, wakes.slice(0, middle));
      return wake(deps, definitions, wakes.slice(middle));
    }
    const context = { definitions, clock };
    await retryConflicts(() => postgres.service.begin((tx) => failClaimed(tx, wakes, context)));
    logger.error(
      { run_id: first.run_id, reason: error.code },
      'an awaited event cannot be stored; its run failed',
    );
  }
}

/**
 * Completes running runs where they stand, and cancels their queued messages and the webhook that they wait for. A webhook
 * of a step that is done still goes out. Those that have ended stay as they are. Returns how many it has ended.
 */
export async function endByExit(tx: Tx, exits: readonly Exit[], now: Date): Promise<number> {
  const runs = exits.length === 0 ? [] : await exitRuns(tx, exits, now);
  await cancelJourneySends(tx, runs);
  await cancelDeliveries(tx, runs, { only_awaited: true });
  return runs.length;
}
