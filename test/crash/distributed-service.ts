import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InternalApi } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import type { Servers } from '../../src/config.ts';
import { freePort } from '../../src/platform/postgres/embedded-server.ts';
import type { TestServers } from '../engines/global-setup.ts';
import { newInstallation } from '../engines/installation.ts';
import { startKafka } from '../engines/kafka.ts';
import { startPostgres } from '../engines/postgres.ts';
import { startRedis } from '../engines/redis.ts';
import type { Engine } from '../engines/server-process.ts';

/**
 * Heap of the front process, in MiB: the bodies and waiting records of a flood that is refused take about half of it. A
 * process that retains more than that crashes. With a larger heap, memory use would only show how late V8 collects
 * garbage.
 */
const FRONT_HEAP_MIB = 192;

/** The real service as two processes, with its own Kafka, Redis and Postgres and on the shared ClickHouse. */
export interface DistributedService {
  kafka: Engine;
  redis: Engine;
  postgres: Engine;
  servers: Servers;
  /** The roles api and intake. */
  front: ServiceProcess;
  /** Every processor. */
  processors: ServiceProcess;
  api: InternalApi;
  /** Can be called after a failure; removes everything except the shared database. */
  close(): Promise<void>;
}

export async function startDistributedService(shared: TestServers): Promise<DistributedService> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-engines-'));
  const cleanUps: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  const close = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  try {
    const kafka = await startKafka();
    cleanUps.push(() => kafka.stop());
    const redis = await startRedis();
    cleanUps.push(() => redis.stop());
    const postgres = await startPostgres();
    cleanUps.push(() => postgres.stop());
    // No database on the own Postgres is prepared: the first process migrates an empty one.
    const { postgres_template: _template, ...others } = shared;
    const own = { kafka_brokers: kafka.brokers, redis_url: redis.url, postgres_url: postgres.url };
    const servers = await newInstallation({ ...others, ...own });
    const internal_secret = randomUUID() + randomUUID();
    const environment = environmentOf(servers, internal_secret);
    const start = async (name: string, roles: string, limits: Record<string, string> = {}) => {
      const service = new ServiceProcess({
        data_dir: join(dir, name),
        port: await freePort(),
        ingest_port: await freePort(),
        environment: { ...environment, ...limits, ROLES: roles },
      });
      cleanUps.push(() => service.signal('SIGKILL'));
      await service.start();
      return service;
    };
    const [front, processors] = await Promise.all([
      start('front', 'api,intake', { NODE_OPTIONS: `--max-old-space-size=${FRONT_HEAP_MIB}` }),
      start(
        'processors',
        'player-fold,analytics-sink,player-mirror,segment-refresh,fx-restater,event-rewriter',
      ),
    ]);
    const api = { base_url: front.base_url, internal_secret };
    return { kafka, redis, postgres, servers, front, processors, api, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function environmentOf(servers: Servers, internal_secret: string): Record<string, string> {
  return {
    INTERNAL_SECRET: internal_secret,
    CREDENTIALS_KEY: 'ab'.repeat(32),
    PUBLIC_URL: 'http://localhost',
    LOG_LEVEL: 'warn',
    RATE_INGEST_PER_SECOND: '1000000',
    RATE_INGEST_BURST: '1000000',
    KAFKA_BROKERS: servers.kafka_brokers.join(','),
    KAFKA_TOPIC_PREFIX: servers.kafka_topic_prefix,
    KAFKA_PARTITIONS: String(servers.kafka_partitions),
    KAFKA_REPLICATION_FACTOR: String(servers.kafka_replication_factor),
    CLICKHOUSE_URL: servers.clickhouse_url,
    POSTGRES_URL: servers.postgres_url,
    REDIS_URL: servers.redis_url,
  };
}
