import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { createKafka, KafkaAdmin } from '../../../src/platform/event-log/kafka-client.ts';
import { KafkaMember } from '../../../src/platform/event-log/kafka-consumer.ts';
import { openKafkaLog } from '../../../src/platform/event-log/kafka-log.ts';
import { readRange } from '../../../src/platform/event-log/kafka-reader.ts';
import { LogUnavailable, type EventLog, type LogRecord } from '../../../src/platform/event-log/port.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { startKafka, type KafkaEngine } from '../../engines/kafka.ts';
import { until } from '../../engines/until.ts';

const logger = createLogger('silent');
let kafka: KafkaEngine;
const open_logs: EventLog[] = [];
/** Opens a log as one process does. */
const open = async (topic: string): Promise<EventLog> => {
  const log = openKafkaLog({
    brokers: kafka.brokers,
    logger,
    clock: systemClock,
    topic_prefix: 'here.',
    topics: { partitions: 4, replication_factor: 1, min_insync_replicas: 1 },
    session_timeout_ms: 6_000,
  });
  open_logs.push(log);
  await log.ensureTopics([topic]);
  return log;
};
beforeAll(async () => {
  kafka = await startKafka();
});
afterEach(async () => {
  await Promise.all(open_logs.splice(0).map((log) => log.close()));
});
afterAll(async () => kafka?.stop());

async function groupState(group: string): Promise<string | undefined> {
  const admin = createKafka({ brokers: kafka.brokers, logger }).admin();
  await admin.connect();
  const { groups } = await admin.describeGroups([group]);
  await admin.disconnect();
  return groups[0]?.state;
}

const keys = Array.from({ length: 40 }, (_, i) => `player-${i}`);

test('a partition moves to another member between two batches, not within one', async () => {
  const [first, second] = [await open('handover'), await open('handover')];
  await first.append(
    'handover',
    keys.map((key) => ({ key, value: 'early' })),
  );
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const by_first: LogRecord[] = [];
  const by_second: LogRecord[] = [];
  const group = { topic: 'handover', group: 'g', max_records: 100, linger_ms: 0 };
  await first.consume({
    ...group,
    async handle({ records }) {
      by_first.push(...records);
      await gate;
    },
  });
  await until((saw) => saw(by_first.length) === keys.length);
  let joined = false;
  const joining = second
    .consume({ ...group, handle: async ({ records }) => void by_second.push(...records) })
    .then(() => (joined = true));
  // The rebalance has begun and waits until the handlers have finished.
  await until(async (saw) => saw(await groupState('here.g')) === 'PreparingRebalance');
  expect(joined).toBe(false);
  release();
  await joining;
  await first.append(
    'handover',
    keys.map((key) => ({ key, value: 'late' })),
  );
  await until((saw) => saw(by_first.length + by_second.length) >= 2 * keys.length);
  expect(by_second.length).toBeGreaterThan(0);
  expect(by_second.filter((record) => record.value === 'early')).toEqual([]);
  expect(by_first.length + by_second.length).toBe(2 * keys.length);
});

test('appends and consumers survive a killed broker: each acknowledged record is in the log once and in order', async () => {
  const log = await open('outage');
  const seen: LogRecord[] = [];
  await log.consume({
    topic: 'outage',
    group: 'g',
    max_records: 500,
    linger_ms: 0,
    handle: async ({ records }) => void seen.push(...records),
  });
  const acknowledged = new Set<string>();
  const stop = new AbortController();
  let number = 0;
  const writers = keys.slice(0, 8).map(async (key) => {
    while (!stop.signal.aborted) {
      const value = `${number++}`;
      await log.append('outage', [{ key, value }]).then(
        () => acknowledged.add(value),
        () => undefined,
      );
    }
  });
  try {
    for (let round = 0; round < 2; round++) {
      const before = acknowledged.size;
      await until((saw) => saw(acknowledged.size) > before + 500);
      await kafka.kill();
      await kafka.restart();
      const after = acknowledged.size;
      await until((saw) => saw(acknowledged.size) > after + 500);
    }
  } finally {
    // Without a pause between appends that a closed log refuses, writers that go on would occupy the process for ever.
    stop.abort();
  }
  await Promise.all(writers);
  await until(() => {
    const values = new Set(seen.map((record) => record.value));
    return [...acknowledged].every((value) => values.has(value));
  });
  // Read directly, not through the group: redelivery after the outage must not hide what the log contains.
  const stored: LogRecord[] = [];
  for (const [partition, end] of await log.endOffsets('outage')) {
    for await (const batch of log.read('outage', partition, 0n, end)) stored.push(...batch.records);
  }
  const values = stored.map((record) => record.value);
  expect(new Set(values).size).toBe(values.length);
  for (const key of keys.slice(0, 8)) {
    const numbers = stored
      .filter((r) => r.key === key && acknowledged.has(r.value))
      .map((r) => Number(r.value));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  }
});

test('reads that begin while the broker restarts return each record once and in order', async () => {
  const log = await open('read-outage');
  const values = Array.from({ length: 100 }, (_, i) => `${i}`);
  await log.append(
    'read-outage',
    values.map((value) => ({ key: 'one', value })),
  );
  const [partition] = [...(await log.endOffsets('read-outage'))].find(([, end]) => end > 0n) ?? [0];
  const read = async () => {
    const range = { topic: 'read-outage', kafka_topic: 'here.read-outage', partition, from: 0n, to: 100n };
    const found: string[] = [];
    const options = { brokers: kafka.brokers, logger, max_records: 1_000 };
    for await (const { records } of readRange({ ...range, ...options })) {
      found.push(...records.map(({ value }) => value));
    }
    return found;
  };
  await kafka.kill();
  const reads = Array.from({ length: 20 }, read);
  await kafka.restart();
  for (const found of await Promise.all(reads)) expect(found).toEqual(values);
});

test('a read begins at the first record that Kafka still has, and makes no consumer group', async () => {
  const log = await open('trimmed');
  const values = Array.from({ length: 10 }, (_, i) => `${i}`);
  await log.append(
    'trimmed',
    values.map((value) => ({ key: 'one', value })),
  );
  const [partition] = [...(await log.endOffsets('trimmed'))].find(([, end]) => end > 0n) ?? [0];
  const admin = createKafka({ brokers: kafka.brokers, logger }).admin();
  await admin.connect();
  // kafkajs deletes records only of a topic whose metadata it has.
  await admin.fetchTopicOffsets('here.trimmed');
  await admin.deleteTopicRecords({ topic: 'here.trimmed', partitions: [{ partition, offset: '4' }] });
  const found: string[] = [];
  const groups: string[] = [];
  for await (const { records } of log.read('trimmed', partition, 0n, 10n, 3)) {
    found.push(...records.map(({ value }) => value));
    groups.push(...(await admin.listGroups()).groups.map(({ groupId }) => groupId));
  }
  await admin.disconnect();
  expect(found).toEqual(values.slice(4));
  expect(groups.filter((group) => !group.startsWith('here.'))).toEqual([]);
});

test('a fetch that does not start at the committed position of the group is discarded', async () => {
  const log = await open('stale');
  await log.append(
    'stale',
    Array.from({ length: 20 }, (_, i) => ({ key: 'one', value: `${i}` })),
  );
  const [partition] = [...(await log.endOffsets('stale'))].find(([, end]) => end > 0n) ?? [0];
  const seen: LogRecord[] = [];
  const member = new KafkaMember({
    brokers: kafka.brokers,
    logger,
    topic: 'here.stale',
    session_timeout_ms: 6_000,
    consumer: {
      topic: 'stale',
      group: 'here.g',
      max_records: 100,
      linger_ms: 0,
      handle: async ({ records }) => void seen.push(...records),
    },
    // kafkajs gets no committed position and starts at 0, as after a fetch of an earlier generation.
    committed: async () => new Map([[partition, 12n]]),
  });
  await member.open();
  await until((saw) => saw(seen.length) > 0);
  expect(seen.map((record) => record.value)).toEqual(['12', '13', '14', '15', '16', '17', '18', '19']);
  await until(async (saw) =>
    saw(await log.lag('stale', 'g')).every((row) => row.next_offset === row.end_offset),
  );
  await member.close();
});

test('a member that has to wait for the session of a dead one opens, and consumes once that session has ended', async () => {
  const log = await open('dead-member');
  await log.append('dead-member', [{ key: 'k', value: 'v' }]);
  // It takes the record and then sends no heartbeat any more, like a process that was killed.
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let is_held = false;
  const dead = createKafka({ brokers: kafka.brokers, logger }).consumer({
    groupId: 'here.dead-member',
    sessionTimeout: 18_000,
    rebalanceTimeout: 18_000,
  });
  await dead.connect();
  await dead.subscribe({ topic: 'here.dead-member', fromBeginning: true });
  await dead.run({
    autoCommit: false,
    async eachBatch() {
      is_held = true;
      await held;
    },
  });
  await until(() => is_held);
  const seen: string[] = [];
  const member = new KafkaMember({
    brokers: kafka.brokers,
    logger,
    topic: 'here.dead-member',
    session_timeout_ms: 6_000,
    consumer: {
      topic: 'dead-member',
      group: 'here.dead-member',
      max_records: 100,
      linger_ms: 0,
      handle: async ({ records }) => void seen.push(...records.map(({ value }) => value)),
    },
    committed: async () => new Map(),
  });
  await member.open();
  expect(seen).toEqual([]);
  await until((saw) => saw(seen.length) > 0);
  expect(seen).toEqual(['v']);
  await member.close();
  release();
  await dead.disconnect();
});

test('concurrent requests about several topics are each answered for their own topic', async () => {
  const names = ['first-topic', 'second-topic', 'third-topic'];
  for (let round = 0; round < 5; round++) {
    const log = await open('at-once');
    await log.ensureTopics(names);
    const asked = names.flatMap((name) => [
      log.endOffsets(name),
      log.lag(name, 'nobody').then((rows) => new Map(rows.map((row) => [row.partition, row.end_offset]))),
    ]);
    for (const ends of await Promise.all(asked)) expect(ends.size).toBe(4);
  }
});

test('all attempts of an administrative call have one deadline together', async () => {
  await open('deadline');
  let attempts = 0;
  let is_late = false;
  // Where the machine is so busy that no second attempt begins in time, the deadline is longer in the next round.
  for (let timeout_ms = 2_000; attempts < 2 && timeout_ms <= 16_000; timeout_ms *= 2) {
    attempts = 0;
    const admin = new KafkaAdmin({ brokers: kafka.brokers, logger }, timeout_ms);
    let timer: NodeJS.Timeout | undefined;
    const call = admin.run('elect a leader', async () => {
      attempts++;
      if (attempts > 1) {
        // The first attempt took longer than 200 ms of the time. Timers fire in order, however late they are.
        timer = setTimeout(() => (is_late = true), timeout_ms - 100);
        await new Promise<never>(() => undefined);
      }
      await sleep(200);
      throw Object.assign(new Error('no leader yet'), { name: 'KafkaJSProtocolError', retriable: true });
    });
    await expect(call).rejects.toThrow(LogUnavailable);
    clearTimeout(timer);
    await admin.close();
  }
  expect(attempts).toBe(2);
  expect(is_late).toBe(false);
});

test('a connection that one call discards stays open for concurrent calls, and is closed after them', async () => {
  await open('beside');
  const admin = new KafkaAdmin({ brokers: kafka.brokers, logger });
  let attempts = 0;
  let [done, closed] = [false, false];
  const beside = admin.run('tell its end offsets', async (connection) => {
    connection.on('admin.disconnect', () => (closed = true));
    await until((saw) => saw(attempts) === 2);
    const answers = [];
    for (let call = 0; call < 20; call++) answers.push(await connection.fetchTopicOffsets('here.beside'));
    done = !closed;
    return answers;
  });
  await admin.run('wait for a leader', async () => {
    attempts++;
    if (attempts === 1)
      throw Object.assign(new Error('no leader yet'), { name: 'KafkaJSProtocolError', retriable: true });
  });
  expect(await beside).toHaveLength(20);
  expect(done).toBe(true);
  await until(() => closed);
  await admin.close();
});
