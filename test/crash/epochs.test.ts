import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import { startEmbeddedPostgres, type EmbeddedServer } from '../../src/platform/postgres/embedded-server.ts';
import { openEmbeddedPlatform } from '../../src/app/wiring/embedded.ts';
import { call, internally } from '../engines/http-client.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { copyPreparedPostgres } from '../engines/shared-postgres.ts';

let dir: string;
let server: EmbeddedServer | undefined;
let service: TestService | undefined;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-epochs-'));
  // When root runs the test, Postgres runs as another user, and that user must be able to enter the folder.
  await chmod(dir, 0o711);
});
afterEach(async () => {
  await stop();
  await rm(dir, { recursive: true, force: true });
});

/** Starts the service on the Postgres of this folder, and always on the same ClickHouse. */
async function start(name: string): Promise<TestService> {
  server ??= await startEmbeddedPostgres({ dir: join(dir, name) });
  const { url } = server;
  service = await startTestService({ data_dir: join(dir, 'data'), log_level: 'fatal' }, (config) =>
    openEmbeddedPlatform(config, undefined, async () => ({ url, stop: async () => undefined })),
  );
  return service;
}

async function stop(): Promise<void> {
  await service?.close();
  await server?.stop();
  [service, server] = [undefined, undefined];
}

const deposit = (anonymous_id: string, transaction_id: string, amount: number) => ({
  event: 'deposit_confirmed',
  anonymous_id,
  properties: { amount, currency: 'EUR', transaction_id, payment_method: 'card' },
});

async function send({ ingest_url }: TestService, { api_key }: TestTenant, events: object[]): Promise<void> {
  const response = await call(`${ingest_url}/v1/events/batch`, api_key, { body: { events } });
  expect(response.body).toMatchObject({ data: { accepted: events.length } });
}

async function reconcile(of: TestService, body: object = {}): Promise<ReconcileReport> {
  const { status, data, text } = await internally<ReconcileReport>(of, 'reconcile', {
    wait_ms: 30_000,
    ...body,
  });
  expect(status, text).toBe(200);
  return data;
}

async function api<T>(
  { base_url }: TestService,
  { session_token, tenant_id }: TestTenant,
  path: string,
  body?: object,
) {
  const headers = { 'x-tenant-id': tenant_id };
  const { status, data, text } = await call<T>(base_url + path, session_token, { headers, body });
  expect(Math.floor(status / 100), text).toBe(2);
  return data;
}

/** Who has deposited over 100, as ClickHouse knows the members of the segment. */
async function sizeInClickHouse(of: TestService, tenant: TestTenant, segment_id: string): Promise<number> {
  const definition = { operator: 'AND', conditions: [{ type: 'segment', op: 'in', segment_id }] };
  return (await api<{ estimated_size: number }>(of, tenant, '/v1/segments/preview', { definition }))
    .estimated_size;
}

const sizeBecomes = (of: TestService, tenant: TestTenant, segment_id: string, size: number) =>
  until(
    `the segment has ${size} members`,
    async (saw) => saw(await sizeInClickHouse(of, tenant, segment_id)) === size,
  );

async function newSegment(of: TestService, tenant: TestTenant): Promise<string> {
  const condition = { type: 'event', event: 'deposit_confirmed', aggregate: 'sum', property: 'amount' };
  const definition = { operator: 'AND', conditions: [{ ...condition, op: 'gt', value: 100 }] };
  const body = { name: 'Big', refresh_strategy: 'realtime', definition };
  return (await api<{ id: string }>(of, tenant, '/v1/segments', body)).id;
}

const latestEpoch = async ({ platform }: TestService): Promise<number> => {
  const [row] = await platform.postgres.service<
    { epoch: number }[]
  >`select max(epoch) as epoch from database_epochs`;
  return row?.epoch ?? -1;
};

/** Loads every table of one cluster into another, as pg_restore does; the embedded Postgres comes without pg_dump. */
async function loadInto(target: EmbeddedServer, source: EmbeddedServer): Promise<void> {
  const options = { max: 1, onnotice: () => undefined };
  const [from, to] = [postgres(source.url, options), postgres(target.url, options)];
  await to`set session_replication_role = replica`;
  const tables = await from<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'event_log') and tablename <> 'schema_migrations'`;
  await to.unsafe(`truncate ${tables.map(({ name }) => name).join(', ')}`);
  for (const { name } of tables) {
    await pipeline(
      await from.unsafe(`copy ${name} to stdout`).readable(),
      await to.unsafe(`copy ${name} from stdin`).writable(),
    );
  }
  const sequences = await from<{ name: string; last_value: string | null }[]>`
    select format('%I.%I', schemaname, sequencename) as name, last_value::text
    from pg_sequences where schemaname in ('public', 'event_log')`;
  for (const { name, last_value } of sequences) {
    if (last_value !== null) await to.unsafe(`select setval('${name}', ${last_value})`);
  }
  await from.end();
  await to.end();
}

it('goes on when Postgres is loaded from a dump: the mirrors copy every later change, and nothing is lost', async () => {
  await copyPreparedPostgres(join(dir, 'first'));
  await copyPreparedPostgres(join(dir, 'second'));
  server = await startEmbeddedPostgres({ dir: join(dir, 'first') });
  const sql = postgres(server.url, { max: 1 });
  await sql.unsafe(
    'do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$',
  );
  await sql.end();
  const before = await start('first');
  const tenant: TestTenant = before;
  const segment = await newSegment(before, tenant);
  await send(before, tenant, [deposit('a', '1', 500), deposit('b', '2', 50)]);
  await sizeBecomes(before, tenant, segment, 1);
  expect(await reconcile(before)).toMatchObject({ differences: 0 });
  expect(await latestEpoch(before)).toBe(0);
  await before.close();
  service = undefined;

  const [source, target] = [server, await startEmbeddedPostgres({ dir: join(dir, 'second') })];
  await loadInto(target, source);
  await source.stop();
  server = target;
  const after = await start('second');
  await send(after, tenant, [deposit('b', '3', 100)]);
  await sizeBecomes(after, tenant, segment, 2);
  expect(await reconcile(after)).toMatchObject({ differences: 0, listed: [] });
  expect(await latestEpoch(after)).toBe(1);
  const [row] = await after.platform.postgres.service<{ future: boolean }[]>`
    select exists (select from player_totals where changed_xid >= pg_snapshot_xmax(pg_current_snapshot())) as future`;
  expect(row).toEqual({ future: false });
  expect(await reconcile(after, { repair: true })).toMatchObject({ differences: 0, ledger_rows: 3 });
});

it('copies an earlier Postgres over a later ClickHouse, whose changes it does not know', async () => {
  await copyPreparedPostgres(join(dir, 'first'));
  const early = await start('first');
  const tenant: TestTenant = early;
  const segment = await newSegment(early, tenant);
  await send(early, tenant, [deposit('a', '1', 50), deposit('b', '2', 50)]);
  expect(await reconcile(early)).toMatchObject({ differences: 0 });
  await stop();
  await promisify(execFile)('cp', ['-a', join(dir, 'first'), join(dir, 'backup')]);

  const late = await start('first');
  await send(late, tenant, [deposit('a', 'lost', 500)]);
  await sizeBecomes(late, tenant, segment, 1);
  expect(await reconcile(late)).toMatchObject({ differences: 0 });
  expect(await latestEpoch(late)).toBe(0);
  await stop();

  const restored = await start('backup');
  await send(restored, tenant, [deposit('b', '3', 500)]);
  const { listed } = await reconcile(restored);
  // Whatever Postgres has was copied again.
  const copies = listed.filter(({ check }) => check === 'mirror');
  expect(copies.filter(({ cause }) => !cause.startsWith('Postgres does not have the'))).toEqual([]);
  expect(await latestEpoch(restored)).toBe(1);
  // ClickHouse still has the lost deposit and its member: what it must forget is removed by a repair.
  expect(await reconcile(restored, { repair: true })).toMatchObject({ differences: 0 });
  const [b] = await restored.platform.clickhouse.query<{ n: string }>(
    'select count() as n from events final where project_id = {project_id:UUID}',
    { project_id: tenant.project_id },
  );
  expect(b?.n).toBe('3');
});
