import { setTimeout as sleep } from 'node:timers/promises';
import type { Thresholds } from '../tier-thresholds/threshold-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import { PositionMoved, type LogBatch, type LogRecord } from '../../platform/event-log/port.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { isDataError, isWriteConflict } from '../../platform/postgres/retry.ts';
import { retryPauseMs } from '../../platform/retry-pause.ts';
import type { Anomalies } from '../money/anomalies.ts';
import { decide } from './decide.ts';
import { replay } from './replay.ts';
import {
  type Decision,
  type Effects,
  type Emission,
  type SnapshotRequest,
  addEffects,
  requestFor,
} from './snapshot.ts';
import {
  lettersWithin,
  MAX_DUPLICATE_LETTERS,
  parseRecord,
  poisonRecord,
  type FoldEvent,
  type Rejection,
} from './fold-event.ts';
import { takeLetters } from './duplicate-letters-queries.ts';
import { lockScales, readPosition, readSnapshot } from './read-queries.ts';
import { prepareWrite } from './write-queries.ts';

export interface FoldContext {
  sql: Db;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  newId: () => string;
  /** Partition → the next offset to apply, as last read; the compare-and-set in Postgres decides. */
  positions: Map<number, bigint>;
  /** tenant_id → base currency of the tenants seen so far: saves look-ups of rates that are not needed. */
  base_currencies: Map<string, string>;
  /** What tiers require: players whose totals newly fit one are queued with the batch. */
  thresholds: Thresholds;
}

const MAX_ATTEMPTS = 12;
const PAUSES = { first_ms: 2, longest_ms: 500 };

/**
 * Folds one batch into Postgres and returns what is to be emitted. Records below the stored position were applied
 * before a crash: they are only replayed. A write conflict is retried, 12 attempts in all. Rejects with the last write
 * conflict and with every other error of Postgres. Then nothing of the batch is applied, or all of it up to some
 * record; another call continues there. Rejects with {@link PositionMoved} when the position is before the batch: then
 * Postgres has lost what was applied. Everything below `emitted` was emitted.
 */
export async function foldBatch(
  context: FoldContext,
  batch: LogBatch,
  emitted: bigint = batch.from,
): Promise<Emission> {
  for (let attempt = 1; ; attempt++) {
    const position = await currentPosition(context, batch);
    if ((position ?? 0n) < batch.from) {
      context.positions.delete(batch.partition);
      throw new PositionMoved(batch, position ?? 0n);
    }
    const applied =
      position === undefined ? 0 : batch.records.findIndex((record) => record.offset >= position);
    const fresh_from = applied === -1 ? batch.records.length : applied;
    try {
      const replayed = await replayRecords(context, batch, batch.records.slice(0, fresh_from));
      const fresh = await applyRecords(context, batch, batch.records.slice(fresh_from), {
        position,
        emitted,
      });
      return {
        events: [...replayed.events, ...fresh.events],
        rejections: [...replayed.rejections, ...fresh.rejections],
      };
    } catch (error) {
      context.positions.delete(batch.partition);
      if (!isWriteConflict(error) || attempt === MAX_ATTEMPTS) throw error;
      context.logger.debug({ err: error, attempt }, 'write conflict in the fold');
      await sleep(retryPauseMs(PAUSES, { attempt }));
    }
  }
}

async function currentPosition(context: FoldContext, batch: LogBatch): Promise<bigint | undefined> {
  const known = context.positions.get(batch.partition);
  // Only where the batch continues what this process applied: otherwise the consumer was sent back to the stored position.
  if (known === batch.from) return known;
  const stored = await readPosition(context.sql, batch.topic, batch.partition);
  if (stored !== undefined) context.positions.set(batch.partition, stored);
  return stored;
}

async function replayRecords(
  context: FoldContext,
  batch: LogBatch,
  records: readonly LogRecord[],
): Promise<Emission> {
  const work = async (part: readonly LogRecord[]) => {
    const { events, rejections } = parseAll(part);
    // One database snapshot for all reads: an identity and its ledger rows must name the same player.
    const snapshot = await context.sql.begin('isolation level repeatable read read only', (tx) =>
      // A replay needs no KYC: nothing is decided again.
      readSnapshot(tx, { ...requestFor(events, context.base_currencies), kyc: [] }),
    );
    const emission = orPoison(() => replay(events, snapshot, batch.partition));
    // Which of them had a letter left is not kept. At least those must come again, or a letter could be lost.
    const letters = lettersWithin(emission.differing, () => MAX_DUPLICATE_LETTERS);
    return { events: emission.events, rejections: [...rejections, ...emission.rejections, ...letters] };
  };
  return isolating(records, work, async (rejection) => ({ events: [], rejections: [rejection] }));
}

/**
 * Applies the records that follow `position`. The position is passed down and never read from the context again: the
 * records were chosen by it, so another one that the context meanwhile has must make the compare-and-set fail.
 */
async function applyRecords(
  context: FoldContext,
  batch: LogBatch,
  records: readonly LogRecord[],
  { position, emitted }: { position: bigint | undefined; emitted: bigint },
): Promise<Emission> {
  let read = position;
  const apply = async (
    part: readonly LogRecord[],
    events: readonly FoldEvent[],
    rejections: readonly Rejection[],
  ) => {
    const { topic, partition } = batch;
    const next = (part.at(-1)?.offset ?? 0n) + 1n;
    const emission = await applyPart(
      context,
      { topic, partition, records: part, read, next, emitted },
      { events, rejections },
    );
    read = next;
    return emission;
  };
  const work = async (part: readonly LogRecord[]) => {
    const { events, rejections } = parseAll(part);
    return apply(part, events, rejections);
  };
  return isolating(records, work, (rejection) => apply([rejection.record], [], [rejection]));
}

/**
 * Runs `work` on the records. Where a record cannot be decided, or Postgres refuses its data, halving isolates that
 * record, and `refused` gets it.
 */
async function isolating(
  records: readonly LogRecord[],
  work: (records: readonly LogRecord[]) => Promise<Emission>,
  refused: (rejection: Rejection) => Promise<Emission>,
): Promise<Emission> {
  const [record] = records;
  if (record === undefined) return { events: [], rejections: [] };
  try {
    return await work(records);
  } catch (error) {
    if (!(error instanceof PoisonRecordError || isDataError(error))) throw error;
    if (records.length === 1) return refused(poisonRecord(record, error));
    const middle = Math.ceil(records.length / 2);
    const first = await isolating(records.slice(0, middle), work, refused);
    const second = await isolating(records.slice(middle), work, refused);
    return {
      events: [...first.events, ...second.events],
      rejections: [...first.rejections, ...second.rejections],
    };
  }
}

/** A part of a batch: its records, and the position at which they were chosen. */
interface Part {
  topic: string;
  partition: number;
  records: readonly LogRecord[];
  /** The position read; undefined before the first batch of the partition. */
  read: bigint | undefined;
  next: bigint;
  /** Everything below was emitted. */
  emitted: bigint;
}

/** What the part before does, and whether that was committed. */
export interface PrecedingPart {
  effects: Effects;
  committed: Promise<boolean>;
}

/** The part before was not applied as it was decided. */
class SpeculationInvalidated extends Error {
  override readonly name = 'SpeculationInvalidated';
}

/**
 * Applies a part in one transaction, all of it or nothing. With `preceding` it reads and decides while the part before is
 * being written, and writes once that is committed; rejects with {@link SpeculationInvalidated} when it is not.
 * `onDecided` gets the effects before they are written.
 */
async function applyPart(
  context: FoldContext,
  part: Part,
  { events, rejections }: Parsed,
  preceding?: PrecedingPart,
  onDecided?: (effects: Effects) => void,
): Promise<Emission> {
  const { sql, clock, metrics, newId, positions, base_currencies } = context;
  const { partition } = part;
  const started_ms = performance.now();
  const request = requestFor(events, base_currencies);
  const thresholds = await context.thresholds.of(tenantsOf(request));
  const { decision, letters } = await sql.begin(async (tx): Promise<Written> => {
    // What is known of a player's KYC is not among the effects of a part.
    if (request.kyc.length > 0) await untilCommitted(preceding);
    const [, snapshot] = await Promise.all([lockScales(tx, request.conversions), readSnapshot(tx, request)]);
    if (preceding !== undefined) addEffects(snapshot, preceding.effects);
    for (const { tenant_id, base_currency } of snapshot.projects.values())
      base_currencies.set(tenant_id, base_currency);
    const decided = orPoison(() => decide(events, snapshot, { newId, partition }));
    onDecided?.(decided.effects);
    const write = prepareWrite(tx, decided.effects, part, clock.now_ms(), thresholds);
    await untilCommitted(preceding);
    await write();
    return { decision: decided, letters: await takeLetters(tx, decided.differing, clock.now_ms()) };
  });
  positions.set(partition, part.next);
  metrics.foldBatchEvents.observe(part.records.length);
  metrics.foldBatchSeconds.observe((performance.now() - started_ms) / 1000);
  metrics.eventsFolded.inc(decision.emission.events.length);
  metrics.duplicates.inc(decision.duplicates);
  metrics.duplicatesDiffering.inc(decision.differing.length);
  metrics.stakeMismatches.inc(decision.stake_mismatches);
  countAnomalies(metrics, decision.anomalies);
  const { emission } = decision;
  return { events: emission.events, rejections: [...rejections, ...emission.rejections, ...letters] };
}

/** What a transaction did, and the differing duplicates that get a letter. */
interface Written {
  decision: Decision;
  letters: readonly Rejection[];
}

function countAnomalies(metrics: Metrics, anomalies: Anomalies): void {
  metrics.betTotalMismatches.inc(anomalies.total_mismatches);
  metrics.betTwins.inc(anomalies.twins);
  metrics.betMovementsAfterVoid.inc(anomalies.after_void);
  metrics.reversalsAboveOriginal.inc(anomalies.above_original);
  metrics.reversalsReopened.inc(anomalies.reopened);
}

async function untilCommitted(preceding: PrecedingPart | undefined): Promise<void> {
  if (preceding !== undefined && !(await preceding.committed))
    throw new SpeculationInvalidated('the part before was not applied as it was decided');
}

function tenantsOf({ projects }: SnapshotRequest): string[] {
  return [...new Set(projects.map(({ tenant_id }) => tenant_id))];
}

/** What the records say, and those that are not events. */
interface Parsed {
  events: readonly FoldEvent[];
  rejections: readonly Rejection[];
}

function parseAll(records: readonly LogRecord[]): Parsed {
  const events: FoldEvent[] = [];
  const rejections: Rejection[] = [];
  for (const record of records) {
    const parsed = parseRecord(record);
    if ('event' in parsed) events.push(parsed.event);
    else rejections.push(parsed.rejection);
  }
  return { events, rejections };
}

/** A pure decision threw an error: the cause is in the data, so a retry would fail in the same way. */
class PoisonRecordError extends Error {
  override readonly name = 'PoisonRecordError';
}

function orPoison<T>(decision: () => T): T {
  try {
    return decision();
  } catch (cause) {
    throw new PoisonRecordError(`it cannot be decided: ${String(cause)}`, { cause });
  }
}

/** A part of a batch that is being folded. */
export interface Folding {
  /** What it does, before that is written; undefined: the part has to be applied before the next one can be started. */
  decided: Promise<PrecedingPart | undefined>;
  /** What is to be emitted, once all of the part is applied. */
  applied: Promise<Emission>;
}

/**
 * Starts to fold a part. With `preceding` it is read and decided while the part before is being written: Node works
 * while Postgres does. That is an attempt: when it fails, or the one before does, {@link foldBatch} folds the part, with its
 * retries and errors, after `applied_preceding`. `emitted` gives the offset below which everything was emitted.
 */
export function startFolding(
  context: FoldContext,
  part: LogBatch,
  emitted: () => bigint,
  {
    preceding,
    applied_preceding,
  }: { preceding: PrecedingPart | undefined; applied_preceding: Promise<unknown> },
): Folding {
  let onDecided: (preceding: PrecedingPart | undefined) => void = () => undefined;
  let onCommitted: (is_committed: boolean) => void = () => undefined;
  const decided = new Promise<PrecedingPart | undefined>((resolve) => (onDecided = resolve));
  const committed = new Promise<boolean>((resolve) => (onCommitted = resolve));
  const fold = async (): Promise<Emission> => {
    const emission = await applyAhead(context, part, emitted, preceding, (effects) =>
      onDecided({ effects, committed }),
    ).catch((error: unknown) => {
      context.logger.debug({ err: error }, 'a part is folded again, after the part before it');
      return undefined;
    });
    onCommitted(emission !== undefined);
    // Changes nothing where it was decided.
    onDecided(undefined);
    if (emission !== undefined) return emission;
    await applied_preceding;
    return foldBatch(context, part, emitted());
  };
  return { decided, applied: fold() };
}

/** Undefined: the position is not known, so that it has to be read first. */
async function applyAhead(
  context: FoldContext,
  { topic, partition, from, records }: LogBatch,
  emitted: () => bigint,
  preceding: PrecedingPart | undefined,
  onDecided: (effects: Effects) => void,
): Promise<Emission | undefined> {
  if (preceding === undefined && context.positions.get(partition) !== from) return undefined;
  const next = (records.at(-1)?.offset ?? from) + 1n;
  try {
    const part = { topic, partition, records, read: from, next, emitted: emitted() };
    return await applyPart(context, part, parseAll(records), preceding, onDecided);
  } catch (error) {
    context.positions.delete(partition);
    throw error;
  }
}
