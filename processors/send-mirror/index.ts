import { newEpochMemory } from '../../src/analytics/epoch.ts';
import { readMirrorBlock } from '../../src/analytics/mirror-block.ts';
import { mirrorWork, type MirrorPosition, moveMirrorPosition } from '../../src/analytics/mirror-queries.ts';
import { SENDS, SENDS_MIRROR } from '../../src/analytics/mirrors.ts';
import { readChangedSends, type ChangedSend } from '../../src/analytics/send-mirror-queries.ts';
import { reachedStagesWork } from '../../src/analytics/stage-queries.ts';
import { MESSAGE_EVENTS } from '../../src/engage/messaging/feedback-events.ts';
import { newId } from '../../src/platform/ids.ts';
import { publishOutbox } from '../../src/platform/outbox.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import { MESSAGES } from '../../src/segments/dependencies.ts';
import { markDirty } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/platform/platform.ts';

const MAX_BLOCK = 10_000;

/**
 * send-mirror: Postgres `message_sends` → ClickHouse `message_sends` (those of journeys also → `journey_sends`); then the
 * players are marked dirty for segments. Rows are absolute, so a crash at any point only repeats rows that replace
 * themselves. A second loop appends an event per stage that a message has reached → `player-events`, once the message is
 * in ClickHouse.
 */
export function startSendMirror(platform: Platform): PollLoop {
  const memory = newEpochMemory();
  const { logger, clock, workWatch } = platform;
  const pauses = { logger, idle_pause_ms: 200, longest_pause_ms: 5_000 };
  const stages = workWatch.watch(reachedStagesWork, clock);
  const events = startPolling({ name: 'message-events', ...pauses, work: stages }, () =>
    publishOutbox(platform, MESSAGE_EVENTS),
  );
  const changes = workWatch.watch(mirrorWork(SENDS), clock);
  const mirror = startPolling({ name: 'send-mirror', ...pauses, work: changes }, async () => {
    const mirrored = await mirrorSends(platform, memory);
    if (mirrored > 0) events.wake();
    return mirrored === MAX_BLOCK;
  });
  return {
    wake: () => mirror.wake(),
    async close() {
      await mirror.close();
      await events.close();
    },
  };
}

/** Mirrors one block of changes; returns how many. Skips rows that are queued or being sent: they change again. */
export async function mirrorSends(platform: Platform, memory = newEpochMemory()): Promise<number> {
  const { service } = platform.postgres;
  const now_ms = platform.clock.now_ms();
  const block = await readMirrorBlock(platform, memory, SENDS_MIRROR, (position) =>
    readChangedSends(service, position, MAX_BLOCK, now_ms),
  );
  const last = block?.rows.at(-1);
  if (block === undefined || last === undefined) return 0;
  const { position, rows: changed } = block;
  const next = positionOf(last, position);
  const settled = changed.filter(({ is_pending }) => !is_pending);
  const lines = settled.map(({ line }) => line);
  if (lines.length > 0) await platform.clickhouse.insertLines('message_sends', lines, newId());
  const of_journeys = settled.filter(({ journey_id }) => journey_id !== null).map(({ line }) => line);
  if (of_journeys.length > 0) await platform.clickhouse.insertLines('journey_sends', of_journeys, newId());
  await service.begin(async (tx) => {
    const dirty = settled.map((send) => ({ ...send, reads: MESSAGES }));
    if (dirty.length > 0) await markDirty(tx, dirty, new Date(now_ms));
    await moveMirrorPosition(tx, SENDS_MIRROR, position, next);
  });
  memory.seen_xid = BigInt(next.changed_xid);
  return changed.length;
}

function positionOf({ changed_xid, send_id }: ChangedSend, { epoch }: MirrorPosition): MirrorPosition {
  return { epoch, changed_xid, row_id: send_id };
}
