import { newEpochMemory } from '../../src/analytics/epoch.ts';
import { readChangedJourneyRows } from '../../src/analytics/journey-mirror-queries.ts';
import { readMirrorBlock } from '../../src/analytics/mirror-block.ts';
import { mirrorWork, moveMirrorPosition } from '../../src/analytics/mirror-queries.ts';
import { JOURNEYS, JOURNEYS_MIRROR } from '../../src/analytics/mirrors.ts';
import { newId } from '../../src/platform/ids.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Platform } from '../../src/platform/platform.ts';

const MAX_BLOCK = 10_000;

/**
 * journey-mirror: Postgres `journey_runs` and `journey_steps` → ClickHouse. Rows are absolute and have a revision, so a
 * crash between the inserts and the move of the position only repeats rows that replace themselves.
 */
export function startJourneyMirror(platform: Platform): PollLoop {
  const memory = newEpochMemory();
  const work = platform.workWatch.watch(mirrorWork(JOURNEYS), platform.clock);
  const pauses = { idle_pause_ms: 200, longest_pause_ms: 5_000, work };
  return startPolling(
    { name: 'journey-mirror', logger: platform.logger, ...pauses },
    async () => (await mirrorJourneys(platform, memory)).is_full,
  );
}

/** Mirrors one block of changes; returns how many, and whether there may be more. */
export async function mirrorJourneys(
  platform: Platform,
  memory = newEpochMemory(),
): Promise<{ count: number; is_full: boolean }> {
  const { service } = platform.postgres;
  let is_full = false;
  const block = await readMirrorBlock(platform, memory, JOURNEYS_MIRROR, async (from) => {
    const changed = await readChangedJourneyRows(service, from, MAX_BLOCK);
    ({ is_full } = changed);
    return changed.rows;
  });
  const last = block?.rows.at(-1);
  if (block === undefined || last === undefined) return { count: 0, is_full: false };
  const { position, rows } = block;
  for (const table of ['journey_runs', 'journey_steps'] as const) {
    const lines = rows.filter((row) => row.table === table).map(({ line }) => line);
    // Repeated rows replace themselves. A token of the positions could repeat after a restore, with other rows.
    if (lines.length > 0) await platform.clickhouse.insertLines(table, lines, newId());
  }
  const next = { epoch: position.epoch, changed_xid: last.changed_xid, row_id: last.run_id };
  await service.begin((tx) => moveMirrorPosition(tx, JOURNEYS_MIRROR, position, next));
  memory.seen_xid = BigInt(last.changed_xid);
  return { count: rows.length, is_full };
}
