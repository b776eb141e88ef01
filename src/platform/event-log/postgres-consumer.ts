import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../postgres/port.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { retryPauseMs } from '../retry-pause.ts';
import { withinTime } from '../time-limit.ts';
import type { PartitionAppender } from './postgres-appender.ts';
import {
  commitOffset,
  committedOffset,
  firstOffset,
  readRecords,
  readRecordsOf,
} from './postgres-queries.ts';
import type { ConsumeOptions, LogBatch, LogRecord } from './port.ts';

const PAUSES = { first_ms: 50, longest_ms: 5_000 };
const CLOSE_GRACE_MS = 10_000;

/** One member of a consumer group in this process; the members of all groups are in one set. */
export interface GroupMember {
  topic: string;
  group: string;
  close(grace_ms?: number): Promise<void>;
  /** Starts or stops partitions after a member joined or left. */
  rebalance(): void;
  /** Whether it still works on a partition: the next member starts only after the running batch. */
  holds(partition: number): boolean;
}

interface MemberOptions {
  sql: Db;
  clock: Clock;
  logger: Logger;
  topic_id: number;
  partitions: readonly PartitionAppender[];
  members: Set<GroupMember>;
  consumer: ConsumeOptions;
}

/** Joins a consumer group: partitions are assigned round-robin to its members in the order in which they joined. */
export function startGroupMember(options: MemberOptions): GroupMember {
  const { consumer, members } = options;
  const running = new Map<number, { stop: AbortController; done: Promise<void> }>();
  let closed = false;

  const peers = () => [...members].filter((m) => m.topic === consumer.topic && m.group === consumer.group);

  const member: GroupMember = {
    topic: consumer.topic,
    group: consumer.group,
    rebalance() {
      const group = peers();
      const index = group.indexOf(member);
      for (const appender of options.partitions) {
        const mine = !closed && appender.partition % group.length === index;
        const loop = running.get(appender.partition);
        if (mine && loop === undefined) start(appender);
        else if (!mine && loop !== undefined) loop.stop.abort();
      }
    },
    holds: (partition) => running.has(partition),
    async close(grace_ms = CLOSE_GRACE_MS) {
      closed = true;
      const ends = [...running.values()].map((loop) => (loop.stop.abort(), loop.done));
      await withinTime(grace_ms, Promise.all(ends)).catch(() => undefined);
      // A stuck handler keeps its partition: another member would handle later records while it still runs.
      if (running.size === 0) leave();
    },
  };

  function leave(): void {
    members.delete(member);
    for (const peer of peers()) peer.rebalance();
  }

  function start(appender: PartitionAppender): void {
    if (peers().some((peer) => peer.holds(appender.partition))) return;
    const stop = new AbortController();
    const forget = appender.keepRecent();
    const done = consumePartition(options, appender, stop.signal)
      .catch((error: unknown) =>
        options.logger.error({ err: error, group: consumer.group }, 'consumer loop failed'),
      )
      .finally(() => {
        forget();
        running.delete(appender.partition);
        if (closed && running.size === 0) leave();
        else for (const peer of peers()) peer.rebalance();
      });
    running.set(appender.partition, { stop, done });
  }

  members.add(member);
  for (const peer of peers()) peer.rebalance();
  return member;
}

/** Reads, handles and commits batches until stopped; a failed batch is retried with growing pauses. */
async function consumePartition(
  options: MemberOptions,
  appender: PartitionAppender,
  stop: AbortSignal,
): Promise<void> {
  const { sql, topic_id, consumer, logger } = options;
  const { partition } = appender;
  let failures = 0;
  let next: bigint | undefined;
  // What was appended before the consumer began, it reads in Postgres: so it sees what Postgres has lost.
  let began = 0n;
  let more_waits = false;
  let read_ms = performance.now();
  let ahead: ReadAhead | undefined;
  while (!stop.aborted) {
    try {
      if (next === undefined) {
        next = await startOf(options, partition);
        began = appender.end;
      }
      // The last batch ended at its byte limit, so more records wait: they need no further lingering.
      if (!more_waits) await waitForRecords(options, appender, { next, read_ms }, stop);
      if (stop.aborted) return;
      const { end, read } = ahead ?? { end: appender.end, read: undefined };
      read_ms = performance.now();
      const { records, keys } = await (read ?? readBatch(options, appender, { from: next, end, began }));
      const last = records.at(-1);
      more_waits = last !== undefined && last.offset + 1n < end && records.length < consumer.max_records;
      ahead = undefined;
      if (last === undefined) {
        next = await behindHole(options, appender, next);
        continue;
      }
      const batch: LogBatch = { topic: consumer.topic, partition, from: next, records, keys };
      ahead = readAhead(options, appender, { from: last.offset + 1n, began });
      await consumer.handle(batch);
      next = last.offset + 1n;
      await commitOffset(sql, consumer.group, topic_id, partition, next);
      failures = 0;
    } catch (error) {
      const pause_ms = retryPauseMs(PAUSES, { attempt: ++failures });
      logger.warn({ err: error, group: consumer.group, partition, pause_ms }, 'batch failed; retrying');
      next = undefined;
      ahead = undefined;
      await sleep(pause_ms, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}

/** The next batch, which is read while another one is handled, and the end of the log by which it was read. */
interface ReadAhead {
  end: bigint;
  read: ReturnType<typeof readBatch>;
}

/**
 * Only a full batch is read ahead: one that is read later has more records. A consumer of some keys does not read ahead:
 * the keys of a later batch are not known yet.
 */
function readAhead(
  options: MemberOptions,
  appender: PartitionAppender,
  { from, began }: { from: bigint; began: bigint },
): ReadAhead | undefined {
  const { consumer } = options;
  const { end } = appender;
  if (consumer.keys !== undefined || end - from < BigInt(consumer.max_records)) return undefined;
  const read = readBatch(options, appender, { from, end, began });
  // It is awaited when the batch before it was handled; when that fails, never.
  read.catch(() => undefined);
  return { end, read };
}

/**
 * The next records of `[from, end)`, all of which were appended: those of the keys that the consumer needs. They end before
 * the first one that the log lacks, and there are none when that is the one at `from`. If records of other keys are
 * missing between the first and the last one, this consumer does not notice; other consumers of the topic do. Records from `began`
 * on are taken from memory if they are there.
 */
async function readBatch(
  { sql, topic_id, consumer }: MemberOptions,
  appender: PartitionAppender,
  { from, end, began }: { from: bigint; end: bigint; began: bigint },
): Promise<{ records: LogRecord[]; keys?: ReadonlySet<string> | undefined }> {
  const full = from + BigInt(consumer.max_records);
  const to = end < full ? end : full;
  const keys = await consumer.keys?.(Number(to - from));
  const { partition } = appender;
  const recent = from < began ? undefined : appender.recent(from, to, consumer.max_records);
  if (recent !== undefined) return { records: ofKeys(recent, keys), keys };
  if (keys !== undefined) {
    const records = await readRecordsOf(sql, topic_id, partition, from, to, keys);
    if (records[0]?.offset === from) return { records, keys };
  }
  const records = await readRecords(sql, topic_id, partition, from, end, consumer.max_records);
  return { records: withoutHole(records, from) };
}

/** The records of these keys, with the first and the last one even if they have other keys. */
function ofKeys(records: LogRecord[], keys: ReadonlySet<string> | undefined): LogRecord[] {
  if (keys === undefined) return records;
  return records.filter(({ key }, i) => i === 0 || i === records.length - 1 || keys.has(key));
}

/** The records from `from` on up to the first offset that none of them has. */
function withoutHole(records: LogRecord[], from: bigint): LogRecord[] {
  const last = records.at(-1);
  if (last === undefined || last.offset === from + BigInt(records.length) - 1n) return records;
  return records.slice(
    0,
    records.findIndex(({ offset }, i) => offset !== from + BigInt(i)),
  );
}

/**
 * Where the partition goes on that lacks the record at `from`. Offsets are given out one after the other, each by the
 * statement that inserts its record, and nothing removes records: so the record was there and is lost. Rejects when the
 * consumer refuses to start there. A consumer that cannot refuse goes on behind the hole.
 */
async function behindHole(
  options: MemberOptions,
  appender: PartitionAppender,
  from: bigint,
): Promise<bigint> {
  const { sql, topic_id, consumer, logger } = options;
  const { partition, end } = appender;
  const start = await startOf(options, partition);
  if (start !== from) return start;
  const to = (await firstOffset(sql, topic_id, partition, from)) ?? end;
  if (to === from) return from;
  const { group, topic } = consumer;
  logger.error(
    { group, topic, partition, from: String(from), to: String(to) },
    'records are missing in the event log; the consumer goes on behind them',
  );
  await commitOffset(sql, group, topic_id, partition, to);
  return to;
}

/** Where the partition starts; what the group has committed is made equal to it. */
async function startOf({ sql, topic_id, consumer }: MemberOptions, partition: number): Promise<bigint> {
  const committed = await committedOffset(sql, consumer.group, topic_id, partition);
  const starts = await consumer.startsAt?.(new Map([[partition, committed]]));
  const start = starts?.get(partition) ?? committed;
  if (start !== committed) await commitOffset(sql, consumer.group, topic_id, partition, start);
  return start;
}

/**
 * Waits for a record at `next`, and then until a full batch is there or `linger_ms` has passed. For records that
 * arrived while the previous batch was handled, `linger_ms` counts from `read_ms`, when that batch was read.
 */
async function waitForRecords(
  options: MemberOptions,
  appender: PartitionAppender,
  { next, read_ms }: { next: bigint; read_ms: number },
  stop: AbortSignal,
): Promise<void> {
  const { max_records, linger_ms } = options.consumer;
  const waited_ms = appender.end > next ? performance.now() - read_ms : 0;
  await reached(appender, next, stop);
  const full = next + BigInt(max_records) - 1n;
  if (waited_ms >= linger_ms || stop.aborted || appender.end > full) return;
  const timer = new AbortController();
  // Not AbortSignal.any: `stop` would keep a reference to each combined signal, one per batch.
  const end = () => timer.abort();
  stop.addEventListener('abort', end, { once: true });
  await Promise.race([
    reached(appender, full, timer.signal),
    sleep(linger_ms - waited_ms, undefined, { signal: timer.signal }).catch(() => undefined),
  ]);
  stop.removeEventListener('abort', end);
  timer.abort();
}

/** Resolves when the partition has a record at `offset`, or when stopped. */
function reached(appender: PartitionAppender, offset: bigint, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      stop.removeEventListener('abort', settle);
      cancel();
      resolve();
    };
    let cancel: () => void = () => undefined;
    if (stop.aborted) return resolve();
    stop.addEventListener('abort', settle, { once: true });
    cancel = appender.onReached(offset, settle);
  });
}
