import {
  moveMirrorPosition,
  PLAYERS_MIRROR,
  readChangedPlayers,
  readMirrorPosition,
} from '../../src/analytics/mirror-queries.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import type { Platform } from '../../src/wiring/platform.ts';

const MAX_BLOCK = 20_000;

/**
 * player-mirror: Postgres `players` → ClickHouse `players`. Rows are absolute and carry their revision, so
 * dying between the insert and the move of the position only repeats rows that replace themselves.
 */
export function startPlayerMirror(platform: Platform): PollLoop {
  const pauses = { idle_pause_ms: 200, longest_pause_ms: 5_000 };
  return startPolling(
    { name: 'player-mirror', logger: platform.logger, ...pauses },
    async () => (await mirrorBlock(platform)) === MAX_BLOCK,
  );
}

/** Mirrors one block of changes; returns how many. */
export async function mirrorBlock(platform: Platform): Promise<number> {
  const { service } = platform.postgres;
  const position = await readMirrorPosition(service, PLAYERS_MIRROR);
  const changed = await readChangedPlayers(service, position, MAX_BLOCK);
  const last = changed.at(-1);
  if (last === undefined) return 0;
  const token = `${PLAYERS_MIRROR}:${position.changed_xid}:${position.player_id}:${last.changed_xid}:${last.player_id}:${changed.length}`;
  await platform.clickhouse.insertLines(
    'players',
    changed.map((row) => row.line),
    token,
  );
  await moveMirrorPosition(service, PLAYERS_MIRROR, position, {
    changed_xid: last.changed_xid,
    player_id: last.player_id,
  });
  platform.metrics.rowsMirrored.inc(changed.length);
  return changed.length;
}
