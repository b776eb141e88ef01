import { newEpochMemory } from '../../src/analytics/epoch.ts';
import { readMirrorBlock } from '../../src/analytics/mirror-block.ts';
import {
  mirrorWork,
  isAfter,
  type MirrorPosition,
  moveMirrorPosition,
  readMirrorPosition,
} from '../../src/analytics/mirror-queries.ts';
import { SENDS, SENDS_FEEDBACK, SENDS_MIRROR } from '../../src/analytics/mirrors.ts';
import { readChangedSends, type ChangedSend } from '../../src/analytics/send-mirror-queries.ts';
import { encodePlayerEvent, playerKey } from '../../src/ingest/events/envelope.ts';
import { feedbackEventsOf } from '../../src/engage/messaging/feedback-events.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { newId } from '../../src/platform/ids.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import { MESSAGES } from '../../src/segments/dependencies.ts';
import { markDirty } from '../../src/segments/dirty-players.ts';
import type { Platform } from '../../src/wiring/platform.ts';

const MAX_BLOCK = 10_000;

/**
 * send-mirror: Postgres `message_sends` → ClickHouse `message_sends` (those of journeys also → `journey_sends`), and an
 * event per stage → `player-events`; then the players are marked dirty for segments. Rows are absolute and events have ids that are the same each time, so a
 * crash at any point only repeats rows and events that replace themselves. Changes up to the position SENDS_FEEDBACK are
 * copied without events: after a rebuild of ClickHouse the log has their events already.
 */
export function startSendMirror(platform: Platform): PollLoop {
  const memory = newEpochMemory();
  const work = platform.workWatch.watch(mirrorWork(SENDS), platform.clock);
  const pauses = { idle_pause_ms: 200, longest_pause_ms: 5_000, work };
  return startPolling(
    { name: 'send-mirror', logger: platform.logger, ...pauses },
    async () => (await mirrorSends(platform, memory)) === MAX_BLOCK,
  );
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
  const reported = await readMirrorPosition(service, SENDS_FEEDBACK);
  await appendFeedbackEvents(
    platform,
    settled.filter((send) => isAfter(positionOf(send, position), reported)),
  );
  await service.begin(async (tx) => {
    const dirty = settled.map((send) => ({ ...send, reads: MESSAGES }));
    if (dirty.length > 0) await markDirty(tx, dirty, new Date(now_ms));
    await moveMirrorPosition(tx, SENDS_MIRROR, position, next);
    if (isAfter(next, reported)) await moveMirrorPosition(tx, SENDS_FEEDBACK, reported, next);
  });
  memory.seen_xid = BigInt(next.changed_xid);
  return changed.length;
}

function positionOf({ changed_xid, send_id }: ChangedSend, { epoch }: MirrorPosition): MirrorPosition {
  return { epoch, changed_xid, row_id: send_id };
}

async function appendFeedbackEvents({ eventLog }: Platform, settled: readonly ChangedSend[]): Promise<void> {
  const records = settled
    .flatMap((send) => feedbackEventsOf(send))
    .map((event) => ({
      key: playerKey(event.project_id, event.player_id),
      value: encodePlayerEvent(event),
    }));
  if (records.length > 0) await eventLog.append(TOPICS.playerEvents, records);
}
