import { encodePlayerEvent, playerKey, type DeadLetter } from '../../src/ingest/events/envelope.ts';
import type { Emission } from '../../src/ledger/fold/effects.ts';
import { foldBatch, type FoldContext } from '../../src/ledger/fold/fold-batch.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import { MAX_RECORD_BYTES, type LogBatch, type LogConsumer } from '../../src/platform/event-log/port.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Platform } from '../../src/wiring/platform.ts';

/** What is taken from the log at once. */
const MAX_BATCH = 10_000;
/** What one transaction applies: small enough that its rows die young, large enough to share its cost. */
const MAX_TRANSACTION = 2_000;

/**
 * player-fold: `events` → Postgres → `player-events`. Part by part: applied in one transaction, then emitted,
 * while the next part is applied; the batch is committed at its end. Dying in between makes it come again,
 * and then what was applied is only emitted again (ARCHITECTURE.md).
 */
export async function startPlayerFold(platform: Platform): Promise<LogConsumer> {
  const { eventLog, clock, logger, metrics, postgres } = platform;
  const context: FoldContext = {
    sql: postgres.service,
    clock,
    logger,
    metrics,
    newId,
    positions: new Map(),
    baseCurrencies: new Map(),
  };
  return eventLog.consume({
    topic: TOPICS.events,
    group: GROUPS.fold,
    max_records: MAX_BATCH,
    linger_ms: 0,
    async handle(batch) {
      let emitted: Promise<void> = Promise.resolve();
      for (let from = 0; from < batch.records.length; from += MAX_TRANSACTION) {
        const part = { ...batch, records: batch.records.slice(from, from + MAX_TRANSACTION) };
        const [emission] = await Promise.all([foldBatch(context, part), emitted]);
        emitted = emit(platform, part, emission);
      }
      await emitted;
    },
  });
}

/** Dead letters first: when they are lost to a crash, the whole batch is emitted again. */
async function emit(platform: Platform, batch: LogBatch, emission: Emission): Promise<void> {
  const { eventLog, clock, metrics } = platform;
  if (emission.rejections.length > 0) {
    // In the order of their offsets: readers tell a repetition after a crash by it.
    const inOrder = emission.rejections.toSorted((a, b) => (a.record.offset < b.record.offset ? -1 : 1));
    const letters = inOrder.map(({ record, reason, message }) => {
      metrics.deadLetters.inc({ reason });
      const letter: DeadLetter = {
        reason,
        message,
        partition: batch.partition,
        offset: String(record.offset),
        key: record.key,
        value: record.value,
        at_ms: clock.now_ms(),
      };
      return { key: record.key, value: encodeLetter(letter) };
    });
    await eventLog.append(TOPICS.deadLetters, letters);
  }
  const records = emission.events.map((event) => ({
    key: playerKey(event.project_id, event.player_id),
    value: encodePlayerEvent(event),
  }));
  await eventLog.append(TOPICS.playerEvents, records);
}

/** A letter holds its record twice as large at worst; one that would not fit the log says so instead of it. */
function encodeLetter(letter: DeadLetter): string {
  const text = JSON.stringify(letter);
  if (Buffer.byteLength(text) + Buffer.byteLength(letter.key) <= MAX_RECORD_BYTES) return text;
  return JSON.stringify({
    ...letter,
    value: '',
    message: `${letter.message}; the record is too large to be kept here`,
  });
}
