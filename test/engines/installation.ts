import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { createClient } from '@clickhouse/client';
import type { Servers } from '../../src/config.ts';
import { migrateJobs } from '../../src/platform/jobs/migrate.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { TestServers } from './global-setup.ts';

/** Creates databases and topics on the shared servers for one test file, so that files do not see each other's data. */
export async function newInstallation(servers: TestServers, partitions = 2): Promise<Servers> {
  const name = newName();
  await createDatabase(servers.postgres_url, name, servers.postgres_template);
  const clickhouse = createClient({ url: servers.clickhouse_url });
  await clickhouse.command({ query: `create database ${name}` });
  await clickhouse.close();
  return {
    kafka_brokers: servers.kafka_brokers,
    kafka_topic_prefix: `${name}.`,
    kafka_partitions: partitions,
    kafka_replication_factor: 1,
    kafka_min_insync_replicas: 1,
    clickhouse_url: withPath(servers.clickhouse_url, name),
    postgres_url: withPath(servers.postgres_url, name),
    redis_url: servers.redis_url,
  };
}

/** Creates a migrated database on the server; returns its name. */
export async function newTemplate(postgres_url: string): Promise<string> {
  const name = newName();
  await createDatabase(postgres_url, name);
  const url = withPath(postgres_url, name);
  const owner = connectPool(url, { max: 1 });
  try {
    await migratePostgres(owner);
  } finally {
    await owner.end({ timeout: 5 });
  }
  await migrateJobs(url, createLogger('silent'));
  return name;
}

function newName(): string {
  return `test_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
}

async function createDatabase(server_url: string, name: string, template = 'template1'): Promise<void> {
  const sql = postgres(server_url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(`create database ${name} template ${template}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function withPath(url: string, path: string): string {
  const changed = new URL(url);
  changed.pathname = path;
  return changed.href;
}
