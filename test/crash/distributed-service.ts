import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provisionTenant, type InternalApi, type ProvisionedTenant } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import type { Servers } from '../../src/config.ts';
import { newKey, signedBy, startIdentityProvider } from '../http/auth/identity-provider.ts';
import { startClickHouse } from '../engines/clickhouse.ts';
import { freePort } from '../engines/free-port.ts';
import { newInstallation } from '../engines/installation.ts';
import { startKafka } from '../engines/kafka.ts';
import { startPostgres } from '../engines/postgres.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { startRedis } from '../engines/redis.ts';
import type { Engine } from '../engines/server-process.ts';

/**
 * Heap of the front process, in MiB: the bodies and waiting records of a flood that is refused take about half of it. A
 * process that retains more than that crashes. With a larger heap, memory use would only show how late V8 collects
 * garbage.
 */
const FRONT_HEAP_MIB = 192;

/** Longer than any run. */
const SESSION_S = 24 * 3_600;

/** Every processor except those that send messages and run jobs. */
const COUNTING_ROLES = 'player-fold,analytics-sink,player-mirror,segment-refresh,fx-restater,event-rewriter';
export const ALL_PROCESSORS = `${COUNTING_ROLES},messenger,scheduler`;

/** The real service as two processes, with its own Kafka, Redis and Postgres. */
export interface DistributedService {
  kafka: Engine;
  redis: Engine;
  postgres: Engine;
  /** Absent: it uses a ClickHouse that others use, too. */
  clickhouse: Engine | undefined;
  servers: Servers;
  /** The roles api and intake. */
  front: ServiceProcess;
  processors: ServiceProcess;
  api: InternalApi;
  /** Creates a tenant, whose owner an identity provider has signed in. */
  newTenant(tenant: {
    name: string;
    base_currency: string;
    admin_user_id: string;
  }): Promise<ProvisionedTenant>;
  /** Can be called after a failure; removes everything except a database on a shared ClickHouse. */
  close(): Promise<void>;
}

export interface DistributedServiceOptions {
  /** A ClickHouse to share. Absent: it gets its own. */
  clickhouse_url?: string;
  /** The roles of the processors' process. Absent: {@link COUNTING_ROLES}. */
  processor_roles?: string;
  /** Further environment variables of both processes. */
  environment?: Record<string, string>;
}

export async function startDistributedService(
  options: DistributedServiceOptions,
): Promise<DistributedService> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-engines-'));
  const cleanUps: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  const close = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  const keep = async <E extends Engine>(starting: Promise<E>): Promise<E> => {
    const engine = await starting;
    cleanUps.push(() => engine.stop());
    return engine;
  };
  try {
    const { clickhouse_url: shared_url } = options;
    const starting = [
      keep(startKafka()),
      keep(startRedis()),
      keep(startPostgres()),
      shared_url === undefined ? keep(startClickHouse()) : Promise.resolve(undefined),
    ] as const;
    // When one fails, `close` has to know the others.
    await Promise.allSettled(starting);
    const [kafka, redis, postgres, clickhouse] = await Promise.all(starting);
    // No database on the own Postgres is prepared: the first process migrates an empty one.
    const servers = await newInstallation({
      kafka_brokers: kafka.brokers,
      redis_url: redis.url,
      postgres_url: postgres.url,
      clickhouse_url: shared_url ?? clickhouse?.url ?? '',
    });
    const internal_secret = randomUUID() + randomUUID();
    const key = await newKey('key-1');
    const identity = await startIdentityProvider([key.jwk]);
    cleanUps.push(() => identity.close());
    const environment = {
      ...environmentOf(servers, internal_secret),
      ...identity.environment,
      ...options.environment,
    };
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
      start('processors', options.processor_roles ?? COUNTING_ROLES),
    ]);
    const api = { base_url: front.base_url, internal_secret };
    const sessionOf = (user_id: string) => signedBy(key, user_id, { exp: Date.now() / 1000 + SESSION_S });
    const newTenant: DistributedService['newTenant'] = (tenant) =>
      provisionTenant(api, { ...tenant, project_name: tenant.name }, sessionOf);
    return { kafka, redis, postgres, clickhouse, servers, front, processors, api, newTenant, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function environmentOf(servers: Servers, internal_secret: string): Record<string, string> {
  return {
    INTERNAL_SECRET: internal_secret,
    CREDENTIALS_KEY: 'ab'.repeat(32),
    ERASURE_KEY: 'ef'.repeat(32),
    PUBLIC_URL: 'http://localhost',
    LOG_LEVEL: 'warn',
    RATE_INGEST_PER_SECOND: '1000000',
    RATE_INGEST_BURST: '1000000',
    RATE_ADMIN_PER_SECOND: '100000',
    ...NO_PROVIDERS,
    KAFKA_BROKERS: servers.kafka_brokers.join(','),
    KAFKA_TOPIC_PREFIX: servers.kafka_topic_prefix,
    KAFKA_PARTITIONS: String(servers.kafka_partitions),
    KAFKA_REPLICATION_FACTOR: String(servers.kafka_replication_factor),
    CLICKHOUSE_URL: servers.clickhouse_url,
    POSTGRES_URL: servers.postgres_url,
    REDIS_URL: servers.redis_url ?? '',
  };
}
