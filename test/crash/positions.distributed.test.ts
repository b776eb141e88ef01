import { execFile } from 'node:child_process';
import { inspect, promisify } from 'node:util';
import postgres from 'postgres';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { readConfig, type Servers } from '../../src/config.ts';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import { createKafka } from '../../src/platform/event-log/kafka-client.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { openDistributedPlatform } from '../../src/app/wiring/distributed.ts';
import { call, internally } from '../engines/http-client.ts';
import { newInstallation } from '../engines/installation.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';

const run = promisify(execFile);

let servers: Servers;
let service: TestService | undefined;
beforeEach(async () => {
  servers = await newInstallation(inject('servers'));
});
afterEach(async () => {
  await service?.close();
  service = undefined;
});

async function start(of: Servers = servers): Promise<TestService> {
  service = await startTestService({}, () =>
    openDistributedPlatform(readConfig({ LOG_LEVEL: 'fatal', ...NO_PROVIDERS }), of),
  );
  return service;
}

async function stop(): Promise<void> {
  await service?.close();
  service = undefined;
}

/** Runs `npm run positions` as an operator does; returns what it prints. */
async function positions(...words: string[]): Promise<string> {
  const env = {
    ...process.env,
    KAFKA_BROKERS: servers.kafka_brokers.join(','),
    KAFKA_TOPIC_PREFIX: servers.kafka_topic_prefix,
    KAFKA_PARTITIONS: String(servers.kafka_partitions),
    KAFKA_REPLICATION_FACTOR: '1',
    CLICKHOUSE_URL: servers.clickhouse_url,
    POSTGRES_URL: servers.postgres_url,
    REDIS_URL: servers.redis_url ?? '',
    LOG_LEVEL: 'silent',
  };
  const { stdout } = await run(process.execPath, ['dist/scripts/positions.js', ...words], { env });
  return stdout;
}

async function send({ ingest_url }: TestService, { api_key }: TestTenant, events: object[]): Promise<void> {
  const response = await call(`${ingest_url}/v1/events/batch`, api_key, { body: { events } });
  expect(response.body).toMatchObject({ data: { accepted: events.length } });
}

const deposit = (anonymous_id: string, transaction_id: string, amount: number) => ({
  event: 'deposit_confirmed',
  anonymous_id,
  properties: { amount, currency: 'EUR', transaction_id, payment_method: 'card' },
});

interface Player {
  status: string;
  total_deposited: bigint;
  session_count: bigint;
}

async function playerOf({ platform }: TestService, anonymous_id: string): Promise<Player | undefined> {
  const [row] = await platform.postgres.service<Player[]>`
    select p.status, t.total_deposited, t.session_count
    from player_identities i join players p using (tenant_id, project_id, player_id)
    join player_totals t using (tenant_id, project_id, player_id) where i.anonymous_id = ${anonymous_id}`;
  return row;
}

/** Waits until the player is so. */
async function becomes(of: TestService, anonymous_id: string, wanted: Partial<Player>): Promise<void> {
  await until(`the player is ${inspect(wanted)}`, async (saw) => {
    const player = saw(await playerOf(of, anonymous_id));
    const names = Object.keys(wanted) as (keyof Player)[];
    return player !== undefined && names.every((name) => player[name] === wanted[name]);
  });
}

async function differences(of: TestService): Promise<number> {
  const { status, data, text } = await internally<ReconcileReport>(of, 'reconcile', { wait_ms: 30_000 });
  expect(status, text).toBe(200);
  return data.differences;
}

async function isRefused({ platform }: TestService, group: string): Promise<boolean> {
  const { values } = await platform.metrics.consumersRefused.get();
  return values.some(({ labels, value }) => labels.group === group && value === 1);
}

/** Replaces the database, while nobody uses it, by a copy of another one. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const url = new URL(servers.postgres_url);
  url.pathname = 'postgres';
  const sql = postgres(url.href, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(`drop database if exists ${to} with (force)`);
    await sql.unsafe(`create database ${to} template ${from}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

it('applies what was accepted after the backup when an earlier Postgres is restored beside a later log', async () => {
  const database = new URL(servers.postgres_url).pathname.slice(1);
  const early = await start();
  const tenant: TestTenant = early;
  const events = Array.from({ length: 20 }, (_, i) => deposit('a', `early-${i}`, 100));
  await send(early, tenant, events);
  await becomes(early, 'a', { total_deposited: 2_000n });
  expect(await differences(early)).toBe(0);
  await stop();
  await copyDatabase(database, `${database}_backup`);

  const late = await start();
  const exclusion = { event: 'self_exclusion_set', anonymous_id: 'a', properties: {} };
  await send(late, tenant, [
    deposit('a', 'late', 5),
    { event: 'session_start', anonymous_id: 'a' },
    exclusion,
  ]);
  await becomes(late, 'a', { total_deposited: 2_005n, session_count: 1n, status: 'self_excluded' });
  expect(await differences(late)).toBe(0);
  await stop();
  await copyDatabase(`${database}_backup`, database);

  const restored = await start();
  await becomes(restored, 'a', { total_deposited: 2_005n, session_count: 1n, status: 'self_excluded' });
  expect(await differences(restored)).toBe(0);
  // The copy is another database.
  const [life] = await restored.platform.postgres.service`select max(epoch) as epoch from database_epochs`;
  expect(life).toEqual({ epoch: 1 });
  await send(restored, tenant, [deposit('a', 'last', 1)]);
  await becomes(restored, 'a', { total_deposited: 2_006n, session_count: 1n });
  expect(await differences(restored)).toBe(0);
});

it('does not start the fold on a topic that was created again, and goes on once told to restart', async () => {
  const before = await start();
  const tenant: TestTenant = before;
  await send(before, tenant, [deposit('a', 'one', 1), deposit('b', 'two', 2)]);
  await becomes(before, 'a', { total_deposited: 1n });
  expect(await differences(before)).toBe(0);
  expect(await positions('show')).toMatch(/the positions fit[^]*the positions fit/);
  await expect(positions('restart', 'player-fold')).rejects.toThrow(/belong to this log/);
  await expect(positions('adopt', 'player-fold')).rejects.toThrow(/is not refused: its positions fit/);
  await stop();

  const admin = createKafka({ brokers: servers.kafka_brokers, logger: createLogger('silent') }).admin();
  await admin.connect();
  const name = `${servers.kafka_topic_prefix}events`;
  await admin.deleteTopics({ topics: [name] });
  // Kafka deletes it after its answer.
  await until(async (saw) => !saw(await admin.listTopics()).includes(name));
  await admin.disconnect();
  const after = await start();
  expect(await isRefused(after, 'player-fold')).toBe(true);
  expect(await isRefused(after, 'analytics-sink')).toBe(false);
  // More records than the earlier topic had: the positions alone would not show that it is another one.
  await send(
    after,
    tenant,
    ['a', 'b'].flatMap((who) => Array.from({ length: 10 }, (_, i) => deposit(who, `${who}-${i}`, 10))),
  );
  expect(await positions('show')).toContain('npm run positions -- restart player-fold');
  expect(await playerOf(after, 'a')).toMatchObject({ total_deposited: 1n });
  expect(await positions('restart', 'player-fold')).toContain('starts at the first records');
  await becomes(after, 'a', { total_deposited: 101n });
  await becomes(after, 'b', { total_deposited: 102n });
  expect(await isRefused(after, 'player-fold')).toBe(false);
  expect(await differences(after)).toBe(0);
});

it('starts no consumer on the topics of another prefix, and goes on when it is back', async () => {
  const before = await start();
  const tenant: TestTenant = before;
  await send(before, tenant, [deposit('a', 'one', 1)]);
  await becomes(before, 'a', { total_deposited: 1n });
  await stop();
  const elsewhere = await start({ ...servers, kafka_topic_prefix: `other-${servers.kafka_topic_prefix}` });
  expect(await isRefused(elsewhere, 'player-fold')).toBe(true);
  expect(await isRefused(elsewhere, 'analytics-sink')).toBe(true);
  await stop();
  const back = await start();
  await send(back, tenant, [deposit('a', 'two', 2)]);
  await becomes(back, 'a', { total_deposited: 3n });
  expect(await differences(back)).toBe(0);
});
