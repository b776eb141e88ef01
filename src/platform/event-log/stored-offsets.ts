import type { Gauge } from 'prom-client';
import type { Logger } from '../logger.ts';
import { startPolling } from '../poll-loop.ts';
import { withinTime } from '../time-limit.ts';
import { emittedTo } from './high-watermark.ts';
import type { Db } from '../postgres/port.ts';
import {
  readPositions,
  recordRefusal,
  takeLog,
  type OffsetStore,
  type StoredPositions,
} from './position-queries.ts';
import type { ConsumeOptions, EventLog, LogConsumer, TopicState } from './port.ts';

/** How often a consumer compares its positions with the log, and looks again after a refusal. */
const CHECK_MS = 5_000;
/** For each question to the log. A consumer that is closed waits for the question that is open. */
const ANSWER_MS = 10_000;

/** A consumer's positions do not fit its log; `message` says which command to use. */
export class PositionsRefused extends Error {
  override readonly name = 'PositionsRefused';
}

/**
 * Why the positions do not fit the log as it is, or did not before an operator decided; undefined when they do.
 */
export function refusalOf(store: OffsetStore, stored: StoredPositions, log: TopicState): string | undefined {
  const { group, topic } = store;
  const command = (what: string) => `npm run positions -- ${what} ${group}`;
  const now = misfitsNow(stored, log);
  const misfits = now.length > 0 ? now : misfitsAtFirst(stored, log);
  const shown = misfits.slice(0, 3);
  if (misfits.length > shown.length) shown.push(`${misfits.length - shown.length} more`);
  const places = shown.join(', ');
  if (stored.log_id !== undefined && stored.log_id !== log.id) {
    const start = `${group} does not start: its positions belong to the log ${stored.log_id}, and the topic ${topic} is ${log.id}`;
    const other = `if it is another log, which has to be read from its first record: ${command('restart')}`;
    const same = 'if this is the same log, with the same records at the same offsets';
    if (now.length > 0) return `${start}, into which they do not fit (${places}); ${other}`;
    return misfits.length > 0
      ? `${start}, into which they did not fit at first (${places}); ${same}, complete by now: ${command('resume')}; ${other}`
      : `${start}; ${same}: ${command('adopt')}; ${other}`;
  }
  if (misfits.length === 0 && !stored.refusals.has(log.id)) return undefined;
  return (
    `${group} does not start: its positions are outside of the topic ${topic} (${places || 'when it was compared before'}); ` +
    `what is missing there is lost: restore the log, and then ${command('resume')}, or go on with the records that there ` +
    `are: ${command('adopt')}`
  );
}

/**
 * The partitions whose position was beyond the end that the log had when it was refused: it may have grown beyond the
 * position since, with other records than those that were handled.
 */
function misfitsAtFirst({ refusals }: StoredPositions, log: TopicState): string[] {
  return [...(refusals.get(log.id) ?? [])].flatMap(([partition, { end, max_touched_offset }]) =>
    max_touched_offset > end
      ? `partition ${partition} ended at ${end}, before the position ${max_touched_offset}`
      : [],
  );
}

/** The partitions whose position is not among the offsets that the log has now, or whose record there is lost. */
export function misfitsNow(stored: StoredPositions, log: TopicState): string[] {
  const is_new = isNew(stored);
  const misfits: string[] = [];
  for (const partition of new Set([...stored.next_offsets.keys(), ...log.partitions.keys()])) {
    const next = stored.next_offsets.get(partition) ?? 0n;
    const found = log.partitions.get(partition);
    if (found === undefined) misfits.push(`partition ${partition} is missing`);
    else if (next > found.end)
      misfits.push(`partition ${partition} ends at ${found.end}, before the position ${next}`);
    else if (next < found.first && !is_new)
      misfits.push(`partition ${partition} begins at ${found.first}, after the position ${next}`);
    else if (found.missing !== undefined)
      misfits.push(
        `partition ${partition} lacks the records ${found.missing.from} to ${found.missing.to - 1n}`,
      );
  }
  return misfits;
}

/** The consumer has never used a log: it starts at the first records, even if others were removed before them. */
const isNew = ({ log_id, next_offsets }: StoredPositions) => log_id === undefined && next_offsets.size === 0;

interface Engines {
  eventLog: Pick<EventLog, 'describe' | 'lag'>;
  sql: Db;
}

/** A consumer's positions, and its log at these. */
export interface ComparedPositions {
  stored: StoredPositions;
  log: TopicState;
  /**
   * Partition → where the consumer starts: at its position, and earlier where what was handled was perhaps not emitted. What
   * its group has committed counts only as a proof of that, and never moves the start beyond the position.
   */
  starts: Map<number, bigint>;
  /** As {@link refusalOf} says. */
  refusal: string | undefined;
}

/** Compares a consumer's positions with its log as it is now. Rejects when the log does not answer in time. */
export async function comparePositions(
  { eventLog, sql }: Engines,
  store: OffsetStore,
): Promise<ComparedPositions> {
  // Read before the log's ends: a position read after them could be ahead of them.
  const stored = await readPositions(sql, store);
  const lags = await withinTime(ANSWER_MS, eventLog.lag(store.topic, store.group));
  const committed = new Map(lags.map(({ partition, next_offset }) => [partition, next_offset]));
  const emitted = new Map(
    [...committed.keys()].map((partition) => [partition, emittedTo(stored, partition, committed)]),
  );
  // A record that is applied and perhaps not emitted is needed, too: so it is missed where the start is.
  const log = await withinTime(ANSWER_MS, eventLog.describe(store.topic, emitted));
  const starts = new Map<number, bigint>();
  for (const [partition, { first }] of log.partitions) {
    const start = emitted.get(partition) ?? emittedTo(stored, partition, committed);
    starts.set(partition, start < first ? first : start);
  }
  return { stored, log, starts, refusal: refusalOf(store, stored, log) };
}

/** Where the consumer starts. Rejects with {@link PositionsRefused}. */
async function readStarts(engines: Engines, store: OffsetStore): Promise<Map<number, bigint>> {
  const { sql } = engines;
  const { stored, log, starts, refusal } = await comparePositions(engines, store);
  if (refusal !== undefined) {
    await recordRefusal(sql, store, log, stored);
    throw new PositionsRefused(refusal);
  }
  if (stored.log_id === undefined) await takeLog(sql, store, log, { is_new: isNew(stored) });
  return starts;
}

interface StoredOffsetsOptions {
  eventLog: EventLog;
  sql: Db;
  logger: Logger;
  /** 1 while a consumer is refused; label `group`. */
  refused: Gauge<'group'>;
  store: OffsetStore;
  consumer: Omit<ConsumeOptions, 'topic' | 'group' | 'startsAt'>;
}

/**
 * Consumes a topic from the offsets that are stored in Postgres. When they do not fit the log, nothing is delivered until an
 * operator has decided, or the log that they belong to is back under its id: the log has the reason, the gauge is 1, and
 * every few seconds it looks again. Rejects when the log or Postgres does not answer at the start.
 */
export async function consumeWithStoredOffsets(options: StoredOffsetsOptions): Promise<LogConsumer> {
  const { logger, refused, store } = options;
  const { group } = store;
  let running: LogConsumer | undefined;
  let logged_message: string | undefined;
  let loop: ReturnType<typeof startPolling> | undefined;
  const compare = async () => {
    try {
      return await readStarts(options, store);
    } catch (error) {
      if (!(error instanceof PositionsRefused)) throw error;
      refused.set({ group }, 1);
      if (logged_message !== error.message) logger.error({ group }, error.message);
      logged_message = error.message;
      return error;
    }
  };
  const startsAt = async () => {
    const starts = await compare();
    if (!(starts instanceof PositionsRefused)) return starts;
    // Refused while it runs: the loop stops it.
    loop?.wake();
    throw starts;
  };
  /** Starts the consumer when its positions fit the log, and stops it when they do not. */
  const look = async () => {
    if ((await compare()) instanceof PositionsRefused) {
      await running?.close();
      running = undefined;
      return;
    }
    running ??= await options.eventLog.consume({
      ...options.consumer,
      topic: store.topic,
      group,
      startsAt,
    });
    if (logged_message !== undefined) logger.info({ group }, 'the positions fit the log again');
    logged_message = undefined;
    refused.set({ group }, 0);
  };
  await look();
  let is_first = true;
  const pauses = { idle_pause_ms: CHECK_MS, longest_pause_ms: CHECK_MS };
  loop = startPolling({ name: `positions of ${group}`, logger, ...pauses }, async () => {
    if (!is_first) await look();
    is_first = false;
    return false;
  });
  return {
    async close(grace_ms) {
      await loop?.close();
      await running?.close(grace_ms);
    },
  };
}
