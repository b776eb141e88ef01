import { playerEventRecord, type DeadLetter } from '../../src/ingest/events/envelope.ts';
import type { Emission } from '../../src/ledger/fold/snapshot.ts';
import type { Thresholds } from '../../src/ledger/tier-thresholds/threshold-cache.ts';
import { startFolding, type FoldContext, type PrecedingPart } from '../../src/ledger/fold/fold-batch.ts';
import { consumeWithStoredOffsets } from '../../src/platform/event-log/stored-offsets.ts';
import { OFFSET_STORES } from '../../src/platform/event-log/position-queries.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import {
  MAX_RECORD_BYTES,
  type LogBatch,
  type LogConsumer,
  type NewRecord,
} from '../../src/platform/event-log/port.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Platform } from '../../src/platform/platform.ts';

/** Records taken from the log at once. */
const MAX_BATCH = 10_000;
/**
 * Records applied in one transaction: few, so that the garbage collector frees their objects early, and enough to share
 * the cost of the transaction.
 */
const MAX_TRANSACTION = 2_000;
/**
 * Batches of different partitions in which a part is decided speculatively, at a time. Each takes two connections, of ten
 * that all processors of the process share; further partitions overlap with each other as it is.
 */
const MAX_SPECULATIVE = 2;

/**
 * player-fold: `events` → Postgres → `player-events`. A batch is handled in parts: each part is applied in one
 * transaction and then emitted, while the next part is applied. The offset of the batch is committed at its end. After
 * a crash in between the parts come again whose emission is not recorded, and are only emitted again (src/ledger/README.md).
 */
export async function startPlayerFold(platform: Platform, thresholds: Thresholds): Promise<LogConsumer> {
  const { eventLog, clock, logger, metrics, postgres } = platform;
  const context: FoldContext = {
    sql: postgres.service,
    clock,
    logger,
    metrics,
    newId,
    positions: new Map(),
    base_currencies: new Map(),
    thresholds,
  };
  let speculative = 0;
  return consumeWithStoredOffsets({
    eventLog,
    sql: postgres.service,
    logger,
    refused: metrics.consumersRefused,
    store: OFFSET_STORES.fold,
    consumer: {
      max_records: MAX_BATCH,
      linger_ms: 0,
      async handle(batch) {
        const is_speculative = speculative < MAX_SPECULATIVE;
        if (is_speculative) speculative++;
        try {
          await handle(platform, context, batch, is_speculative);
        } finally {
          if (is_speculative) speculative--;
        }
      },
    },
  });
}

/**
 * While a part is written, the one before it is emitted, and with `is_speculative` the one after it is read and decided. A
 * part is started when the second one before it has been emitted, so two are in transactions at most.
 */
async function handle(
  platform: Platform,
  context: FoldContext,
  batch: LogBatch,
  is_speculative: boolean,
): Promise<void> {
  let emitted_to = batch.from;
  const nothing: Started = { preceding: undefined, applied: Promise.resolve(), emitted: Promise.resolve() };
  let [last, second_last] = [nothing, nothing];
  try {
    for (const part of partsOf(batch)) {
      await second_last.emitted;
      if (!is_speculative) await last.applied;
      const { preceding, applied: applied_preceding, emitted: emitted_preceding } = last;
      const folding = startFolding(context, part, () => emitted_to, { preceding, applied_preceding });
      const emitted = Promise.all([folding.applied, emitted_preceding]).then(async ([emission]) => {
        await emit(platform, part, emission);
        emitted_to = endOf(part);
      });
      second_last = last;
      last = { preceding: undefined, applied: folding.applied, emitted };
      // A failure shows where it is awaited, which may be later.
      emitted.catch(() => undefined);
      last.preceding = await folding.decided;
    }
    await last.emitted;
  } finally {
    // All must have ended before the batch is given up and comes again: a fold that is still running would move the position
    // under the repeated one.
    await Promise.allSettled([second_last, last].flatMap(({ applied, emitted }) => [applied, emitted]));
  }
}

/** A part that was started. */
interface Started {
  preceding: PrecedingPart | undefined;
  applied: Promise<unknown>;
  emitted: Promise<void>;
}

function partsOf(batch: LogBatch): LogBatch[] {
  const parts: LogBatch[] = [];
  let { from } = batch;
  for (let i = 0; i < batch.records.length; i += MAX_TRANSACTION) {
    const part = { ...batch, from, records: batch.records.slice(i, i + MAX_TRANSACTION) };
    parts.push(part);
    from = endOf(part);
  }
  return parts;
}

/** The offset after a batch. */
function endOf({ from, records }: LogBatch): bigint {
  const last = records.at(-1);
  return last === undefined ? from : last.offset + 1n;
}

/** Appends dead letters, then events. After a crash before the batch is committed, both are emitted again. */
async function emit(platform: Platform, batch: LogBatch, emission: Emission): Promise<void> {
  const { eventLog, clock, metrics } = platform;
  if (emission.rejections.length > 0) {
    // In the order of their offsets, by which readers recognise duplicates after a crash.
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
      return encodeLetter(letter);
    });
    await eventLog.append(TOPICS.deadLetters, letters);
  }
  await eventLog.append(TOPICS.playerEvents, emission.events.map(playerEventRecord));
}

/** If a record is too large for a letter, its letter has so many characters of the key and of the value. */
const KEPT_CHARACTERS = 4_096;

/**
 * Escaping makes a record up to twice as large in its letter. A letter that would exceed the size limit of the log has
 * only the beginning of `value`, which names ingestion, tenant and project, and its size.
 */
function encodeLetter(letter: DeadLetter): NewRecord {
  const text = JSON.stringify(letter);
  if (Buffer.byteLength(text) + Buffer.byteLength(letter.key) <= MAX_RECORD_BYTES) {
    return { key: letter.key, value: text };
  }
  const beginningOf = (whole: string) => whole.slice(0, KEPT_CHARACTERS).toWellFormed();
  const key = beginningOf(letter.key);
  const kept: DeadLetter = {
    ...letter,
    message: `${letter.message}; the record is too large to be kept here, which has its beginning`,
    key,
    value: beginningOf(letter.value),
    value_bytes: Buffer.byteLength(letter.value),
  };
  return { key, value: JSON.stringify(kept) };
}
