import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../src/platform/postgres/port.ts';
import { selectStepsSince } from './journey-seed-queries.ts';

const POLL_EVERY_MS = 5;

/** The time now in milliseconds since the epoch, with fractions. */
export const now_ms = () => performance.timeOrigin + performance.now();

/**
 * Notes when the first step of each of these runs is visible to others, from now on, until all are or `until_ms` is over.
 * Call it before the first of them can move.
 */
export async function watchSteps(
  sql: Db,
  project_id: string,
  run_ids: readonly string[],
  until_ms: number,
): Promise<ReadonlyMap<string, number>> {
  const waiting = new Set(run_ids);
  const seen = new Map<string, number>();
  let { next } = await selectStepsSince(sql, project_id, undefined);
  while (waiting.size > 0 && now_ms() < until_ms) {
    const found = await selectStepsSince(sql, project_id, next);
    const at_ms = now_ms();
    next = found.next;
    for (const run_id of found.run_ids) if (waiting.delete(run_id)) seen.set(run_id, at_ms);
    await sleep(POLL_EVERY_MS);
  }
  return seen;
}
