import { newEpochMemory } from '../../src/analytics/epoch.ts';
import { readMirrorBlock } from '../../src/analytics/mirror-block.ts';
import {
  type ChangedPlayer,
  LAST_ID,
  mirrorWork,
  markKnownToSegments,
  moveMirrorPosition,
  readChangedPlayers,
  removePlayerChanges,
} from '../../src/analytics/mirror-queries.ts';
import { PLAYERS, PLAYERS_MIRROR } from '../../src/analytics/mirrors.ts';
import { newId } from '../../src/platform/ids.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { markDirtyByRows } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/platform/platform.ts';

const MAX_BLOCK = 20_000;

/**
 * player-mirror: Postgres `players` → ClickHouse `players`; then the players are marked dirty for segments. Rows are
 * absolute and have a revision, so a crash between the insert and the move of the position only repeats rows that
 * replace themselves.
 */
export function startPlayerMirror(platform: Platform): PollLoop {
  const memory = newEpochMemory();
  const work = platform.workWatch.watch(mirrorWork(PLAYERS), platform.clock);
  const pauses = { idle_pause_ms: 100, longest_pause_ms: 5_000, work };
  const loop = startPolling(
    { name: 'player-mirror', logger: platform.logger, ...pauses },
    async () => (await mirrorBlock(platform, memory)) >= MAX_BLOCK,
  );
  // The first turn also detects a restored or replaced database. The work query does not.
  loop.wake();
  return loop;
}

/** Mirrors one block of changes; returns how many players it had. */
export async function mirrorBlock(platform: Platform, memory = newEpochMemory()): Promise<number> {
  const { service } = platform.postgres;
  const block = await readMirrorBlock(platform, memory, PLAYERS_MIRROR, async (position) => {
    const changes = await readChangedPlayers(service, position, MAX_BLOCK);
    return changes === undefined ? [] : [changes];
  });
  const [changes] = block?.rows ?? [];
  if (block === undefined || changes === undefined) return 0;
  const { players, until_xid } = changes;
  if (players.length > 0)
    await platform.clickhouse.insertLines(
      'players',
      players.map((row) => row.line),
      // Repeated rows replace themselves. A token of the positions could repeat after a restore, with other rows.
      newId(),
    );
  const next = { epoch: block.position.epoch, changed_xid: until_xid, row_id: LAST_ID };
  await service.begin(async (tx) => {
    if (players.length > 0) await markChanged(tx, players, new Date(platform.clock.now_ms()));
    if (await moveMirrorPosition(tx, PLAYERS_MIRROR, block.position, next))
      await removePlayerChanges(tx, block.position, until_xid);
  });
  memory.seen_xid = BigInt(until_xid);
  platform.metrics.rowsMirrored.inc(players.length);
  return changes.count;
}

/** Marks the players dirty for realtime segments; players that are new or removed are marked for every segment. */
async function markChanged(tx: Tx, changed: readonly ChangedPlayer[], now: Date): Promise<void> {
  const realtime = await markDirtyByRows(tx, changed, now);
  const fresh = changed.filter((player) => player.is_new_or_removed && realtime.has(player.project_id));
  if (fresh.length > 0) await markKnownToSegments(tx, fresh);
}
