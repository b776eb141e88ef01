import { setTimeout as sleep } from 'node:timers/promises';
import {
  moveMirrorPosition,
  readChangedPlayers,
  readMirrorPosition,
} from '../../src/analytics/mirror-queries.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** Names the mirror's position. */
export const PLAYERS_MIRROR = 'players';
const MAX_BLOCK = 20_000;
const IDLE_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** A running mirror. */
export interface PlayerMirror {
  close(): Promise<void>;
}

/**
 * player-mirror: Postgres `players` → ClickHouse `players`. Rows are absolute and carry their revision, so
 * dying between the insert and the move of the position only repeats rows that replace themselves.
 */
export function startPlayerMirror(platform: Platform): PlayerMirror {
  const stop = new AbortController();
  const done = run(platform, stop.signal);
  return {
    async close() {
      stop.abort();
      await done;
    },
  };
}

async function run(platform: Platform, stop: AbortSignal): Promise<void> {
  let pause_ms = IDLE_PAUSE_MS;
  while (!stop.aborted) {
    try {
      const mirrored = await mirrorBlock(platform);
      pause_ms = IDLE_PAUSE_MS;
      if (mirrored === MAX_BLOCK) continue;
    } catch (error) {
      pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS);
      platform.logger.warn({ err: error, pause_ms }, 'mirror failed; it tries again');
    }
    await sleep(pause_ms, undefined, { signal: stop }).catch(() => undefined);
  }
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
