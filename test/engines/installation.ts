import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { createClient } from '@clickhouse/client';
import type { Servers } from '../../src/config.ts';
import type { TestServers } from './global-setup.ts';

/** Databases and topics of their own on the shared servers, so that test files do not see each other. */
export async function newInstallation(servers: TestServers, partitions = 2): Promise<Servers> {
  const name = `test_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const sql = postgres(servers.postgres_url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`create database ${name}`);
  await sql.end();
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

function withPath(url: string, path: string): string {
  const changed = new URL(url);
  changed.pathname = path;
  return changed.href;
}
