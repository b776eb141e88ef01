import type { Tx } from '../../../platform/postgres/port.ts';
import { cancelJourneySends } from '../../messaging/journey-send-queries.ts';
import { cancelDeliveries } from '../../webhooks/delivery-queries.ts';
import { exitRuns, type Exit } from './match-queries.ts';

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
