import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { openKafkaLog } from '../../../src/platform/event-log/kafka-log.ts';
import { LogMisconfigured } from '../../../src/platform/event-log/port.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import { openDistributedPlatform } from '../../../src/app/wiring/distributed.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { newInstallation } from '../../engines/installation.ts';
import { until } from '../../engines/until.ts';

test('processes that start together on empty servers use one installation', async () => {
  const { postgres_template: _, ...empty } = inject('servers');
  const servers = await newInstallation(empty);
  const config = readConfig({ LOG_LEVEL: 'silent' });
  const platforms = await Promise.all([1, 2, 3].map(() => openDistributedPlatform(config, servers)));
  const [first, second] = platforms;
  await first?.eventLog.append('events', [{ key: 'player', value: '{}' }]);
  const ends = await second?.eventLog.endOffsets('events');
  expect(ends?.size).toBe(servers.kafka_partitions);
  expect([...(ends ?? [])].reduce((sum, [, end]) => sum + end, 0n)).toBe(1n);
  const policy = { name: 'start', per_second: 0.001, burst: 3 };
  const isAlone = async ({ metrics }: Platform) =>
    (await metrics.rateLimiterDegraded.get()).values[0]?.value === 1;
  // While Redis answers too late on a busy machine, processes limit alone.
  await until(async (saw) => {
    const key = randomUUID();
    const verdicts = saw(
      await Promise.all(
        platforms.flatMap(({ rateLimiter }) => [1, 2].map(async () => rateLimiter.take(policy, key))),
      ),
    );
    if (saw(await Promise.all(platforms.map(isAlone))).includes(true)) return false;
    expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(3);
    return true;
  });
  for (const platform of platforms) {
    await platform.clickhouse.ping();
    await platform.eventLog.ping();
    await platform.close();
    await platform.close();
  }
});

test('a start that is refused for its topics has migrated nothing', async () => {
  const { postgres_template: _, ...empty } = inject('servers');
  const servers = await newInstallation(empty);
  const earlier = openKafkaLog({
    brokers: servers.kafka_brokers,
    topic_prefix: servers.kafka_topic_prefix,
    topics: { partitions: 5, replication_factor: 1, min_insync_replicas: 1 },
    clock: systemClock,
    logger: createLogger('silent'),
  });
  await earlier.ensureTopics(['events']);
  await earlier.close();
  const start = openDistributedPlatform(readConfig({ LOG_LEVEL: 'silent' }), servers);
  await expect(start).rejects.toThrow(LogMisconfigured);
  const postgres = connectPool(servers.postgres_url, { max: 1 });
  const tables =
    await postgres`select from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  await postgres.end();
  expect(tables).toHaveLength(0);
});
