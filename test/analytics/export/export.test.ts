import { copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { daysOf } from '../../../scripts/export/days.ts';
import { runExport, type ExportOptions } from '../../../scripts/export/run.ts';
import { CallFailed, type InternalApi } from '../../../scripts/service-api.ts';
import { EXPORTED_TABLES, EXPORTS } from '../../../src/analytics/export/tables.ts';
import { FILE_SQL, fileOf } from '../../../src/analytics/export/table-queries.ts';
import { newId } from '../../../src/platform/ids.ts';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { call, internally, sendBatch } from '../../engines/http-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';

let service: TestService;
let tenant: TestTenant;
let api: InternalApi;
let out: string;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  api = { base_url: service.base_url, internal_secret: service.internal_secret };
  out = await mkdtemp(join(tmpdir(), 'engagement-export-'));
});
afterAll(async () => {
  await service?.close();
  await rm(out, { recursive: true, force: true });
});

type Row = Record<string, unknown>;
interface Parts {
  [folder: string]: { rows: number; files: number; is_kept: boolean };
}

const YESTERDAY_MS = Date.now() - 86_400_000;
const YESTERDAY = new Date(YESTERDAY_MS).toISOString().slice(0, 10);
const TODAY = new Date().toISOString().slice(0, 10);

/** Exports into the folder; resolves with what was done of each part. */
async function exported(options: Partial<ExportOptions> = {}): Promise<Parts> {
  const parts: Parts = {};
  await runExport({
    api,
    tenant_id: tenant.tenant_id,
    project_ids: [tenant.project_id],
    tables: ['events'],
    days: daysOf(YESTERDAY, YESTERDAY),
    out,
    again: false,
    now_ms: Date.now(),
    stop: new AbortController().signal,
    onPart: ({ folder, ...rest }) => (parts[folder.replace(`${tenant.project_id}/`, '')] = rest),
    ...options,
  });
  return parts;
}

/** The rows of exported files, and the types of their columns, as ClickHouse reads them. */
async function read(folder: string, order = 'all'): Promise<{ rows: Row[]; types: Record<string, string> }> {
  const [name = ''] = await readdir(join(out, tenant.project_id, folder));
  const file = `file('${join(out, tenant.project_id, folder, name.replace(/^part-\d+/, 'part-*'))}', Parquet)`;
  const { clickhouse } = service.platform;
  const rows = await clickhouse.query<Row>(`select * from ${file} order by ${order}`);
  const columns = await clickhouse.query<{ name: string; type: string }>(`describe ${file}`);
  return { rows, types: Object.fromEntries(columns.map(({ name: column, type }) => [column, type])) };
}

async function identify(external_id: string): Promise<string> {
  const body = { external_id, traits: { email: `${external_id}@example.com`, vip: true } };
  const { data } = await call(`${service.base_url}/v1/players/identify`, tenant.api_key, { body });
  return String(data['player_id']);
}

async function send(player_id: string, ...references: string[]): Promise<void> {
  const timestamp = new Date(YESTERDAY_MS).toISOString();
  const events = references.map((transaction_id) => ({
    event: 'deposit_confirmed',
    player_id,
    timestamp,
    // More than a double holds exactly.
    properties: { amount: '9007199254740993', currency: 'EUR', transaction_id, payment_method: 'card' },
  }));
  const answer = await sendBatch(service, tenant, events);
  expect(answer.data['accepted'], answer.text).toBe(events.length);
}

async function settled(): Promise<void> {
  await counted(service.platform);
  await waitUntilCaughtUp(service.platform, 60_000);
}

describe('exported files', () => {
  let anna: string;
  let forgotten: string;

  beforeAll(async () => {
    anna = await identify('anna');
    forgotten = await identify('forgotten');
    await send(anna, 'one', 'two', 'three');
    await send(forgotten, 'four');
    await settled();
  });

  it('have every event of a day, exact money and times in UTC', async () => {
    const parts = await exported();
    expect(parts).toEqual({ [`events/date=${YESTERDAY}`]: { rows: 4, files: 1, is_kept: false } });
    const { rows, types } = await read(`events/date=${YESTERDAY}`);
    expect(rows).toHaveLength(4);
    for (const row of rows)
      expect(row).toMatchObject({
        tenant_id: tenant.tenant_id,
        project_id: tenant.project_id,
        event: 'deposit_confirmed',
        base_amount: '9007199254740993',
        occurred_at: new Date(YESTERDAY_MS).toISOString().replace('T', ' ').replace('Z', ''),
      });
    expect(rows.map(({ player_id }) => String(player_id)).sort()).toEqual(
      [anna, anna, anna, forgotten].sort(),
    );
    expect(types).toMatchObject({
      base_amount: 'Nullable(Int64)',
      stake_counted: 'Int64',
      occurred_at: "DateTime64(3, 'UTC')",
      ingestion_id: 'String',
    });
  });

  it('of a table without a time are as the table is now, and have no addresses', async () => {
    const now_ms = Date.parse('2026-01-31T12:00:00.500Z');
    const tables = ['players', 'segment_members'] as const;
    const parts = await exported({ tables, days: [], now_ms });
    const folder = 'snapshot=20260131T120000Z';
    expect(Object.keys(parts)).toEqual([`players/${folder}`, `segment_members/${folder}`]);
    const { rows, types } = await read(`players/${folder}`, 'external_id');
    expect(rows.map(({ external_id }) => external_id)).toEqual(['anna', 'forgotten']);
    expect(rows[0]).toMatchObject({ player_id: anna, total_deposited: '27021597764222979', ngr: 0 });
    expect(types).toMatchObject({ ngr: 'Decimal(38, 0)', total_deposited: 'Int64' });
    expect(JSON.stringify(rows)).not.toContain('@example.com');
    expect((await read(`segment_members/${folder}`)).rows).toEqual([]);
  });

  it('are those of the columns of the tables: each is exported, or kept for a reason', async () => {
    for (const table of EXPORTED_TABLES) {
      const columns = await service.platform.clickhouse.query<{ name: string }>(
        'select name from system.columns where database = currentDatabase() and table = {table:String}',
        { table },
      );
      const named = [...Object.keys(EXPORTS[table].columns), ...Object.keys(EXPORTS[table].kept)];
      expect(named.sort(), table).toEqual(columns.map(({ name }) => name).sort());
    }
  });

  it('have each row once when they are several', async () => {
    const [day] = daysOf(YESTERDAY, YESTERDAY);
    const ids: unknown[] = [];
    for (const file of [1, 2, 3]) {
      const body = {
        tenant_id: tenant.tenant_id,
        project_id: tenant.project_id,
        table: 'events',
        file,
        files: 3,
      };
      const path = join(out, `several-${file}.parquet`);
      const response = await fetch(`${service.base_url}/v1/internal/table-export`, {
        method: 'POST',
        headers: { 'x-internal-secret': service.internal_secret, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, from: day?.from, to: day?.to }),
      });
      expect(response.headers.get('content-type')).toBe('application/vnd.apache.parquet');
      await writeFile(path, Buffer.from(await response.arrayBuffer()));
      const rows = await service.platform.clickhouse.query<Row>(`select * from file('${path}', Parquet)`);
      ids.push(
        ...rows.map(({ ingestion_id, event_index }) => `${String(ingestion_id)} ${String(event_index)}`),
      );
    }
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
  });

  it('have the rows of a player in one file, as the statement and the list of erased people say', async () => {
    const ids = Array.from({ length: 200 }, () => newId());
    const rows = await service.platform.clickhouse.query<{ id: string; file: number }>(
      `select player_id as id, ${FILE_SQL} as file from (select arrayJoin({ids:Array(UUID)}) as player_id) as t`,
      { ids, files: 7 },
    );
    expect(new Set(rows.map(({ file }) => file)).size).toBe(7);
    expect(rows.map(({ id }) => fileOf(id, 7))).toEqual(rows.map(({ file }) => file));
  });

  it('have nothing of other tenants and projects', async () => {
    const other = await service.newTenant();
    const parts = await exported({ tenant_id: other.tenant_id, project_ids: [other.project_id] });
    expect(Object.values(parts)).toEqual([{ rows: 0, files: 1, is_kept: false }]);
    const foreign = exported({ tenant_id: other.tenant_id, project_ids: [tenant.project_id], again: true });
    await expect(foreign).rejects.toThrow('PROJECT_NOT_FOUND');
  });

  it('are recorded in the audit log of the tenant', async () => {
    const { data } = await call(
      `${service.base_url}/v1/audit-log?resource_type=project&action=export`,
      tenant.session_token,
    );
    expect((data as unknown as Row[])[0]).toMatchObject({
      actor: { kind: 'internal' },
      resource_id: tenant.project_id,
      after: { table: 'events', file: 3, files: 3 },
    });
  });

  it('have no player whose erasure is confirmed', async () => {
    const erase = (body: object) =>
      call(`${service.base_url}/v1/players/${forgotten}/erase`, tenant.session_token, { body });
    const { confirmation_token } = (await erase({ reason: 'asked', basis: 'Art. 17' })).data;
    // Somebody who only asked is not erased yet.
    expect(Object.values(await exported({ again: true }))[0]?.rows).toBe(4);
    expect((await erase({ confirmation_token })).status).toBe(202);
    expect(Object.values(await exported({ again: true }))[0]?.rows).toBe(3);
    expect(JSON.stringify((await read(`events/date=${YESTERDAY}`)).rows)).not.toContain(forgotten);
    const now_ms = Date.parse('2026-02-01T00:00:00Z');
    await exported({ tables: ['players', 'message_sends'], now_ms });
    const { rows } = await read('players/snapshot=20260201T000000Z');
    expect(rows.map(({ player_id }) => player_id)).toEqual([anna]);
    // So that nothing is left to do for the next file.
    await until('the erasure is done', async () => {
      const { data } = await call(
        `${service.base_url}/v1/erasures?player_id=${forgotten}`,
        tenant.session_token,
      );
      return (data as unknown as Row[])[0]?.['status'] === 'done';
    });
  });
});

describe('a run', () => {
  const names = async (folder: string) => readdir(join(out, tenant.project_id, folder));

  it('goes on with what is missing, and makes a day again when it is asked to', async () => {
    const folder = `events/date=${YESTERDAY}`;
    const { mtimeMs } = await stat(join(out, tenant.project_id, folder, 'part-0001.parquet'));
    expect(await exported()).toEqual({ [folder]: { rows: 0, files: 0, is_kept: true } });
    expect((await stat(join(out, tenant.project_id, folder, 'part-0001.parquet'))).mtimeMs).toBe(mtimeMs);
    expect(await exported({ again: true })).toMatchObject({ [folder]: { rows: 3, is_kept: false } });
  });

  it('makes a day that was not over again, whatever is there', async () => {
    const folder = `events/date=${TODAY}`;
    const days = daysOf(TODAY, TODAY);
    await exported({ days });
    const early = await names(folder);
    expect(early).toEqual([expect.stringMatching(/^part-0001\.until-\d{8}T\d{6}Z\.parquet$/)]);
    const now_ms = Date.now() + 86_400_000;
    expect(await exported({ days, now_ms })).toMatchObject({ [folder]: { is_kept: false } });
    expect(await names(folder)).toEqual(['part-0001.parquet']);
    expect(await exported({ days, now_ms })).toMatchObject({ [folder]: { is_kept: true } });
  });

  /** A service whose files are cut off after some bytes. */
  async function cuttingService(): Promise<{ api: InternalApi; close: () => void }> {
    const server = createServer((request, response) => {
      if (request.method === 'GET') return response.end('{"data":{"rows":1,"files":2}}');
      response.writeHead(200, { 'content-type': 'application/vnd.apache.parquet' });
      if (request.headers['x-internal-secret'] === 'cut') response.write('PAR1…', () => response.destroy());
      else response.end('PAR1 and an error');
      return undefined;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const base_url = `http://127.0.0.1:${port}`;
    return { api: { base_url, internal_secret: 'cut' }, close: () => server.close() };
  }

  it('leaves nothing of a file that is not whole, and what was there before', async () => {
    const cutting = await cuttingService();
    const folder = `events/date=${YESTERDAY}`;
    const before = await names(folder);
    try {
      for (const internal_secret of ['cut', 'ended early']) {
        await expect(exported({ api: { ...cutting.api, internal_secret }, again: true })).rejects.toThrow();
        expect(await names(folder)).toEqual(before);
        expect(await readdir(out)).not.toContain('.unfinished');
      }
    } finally {
      cutting.close();
    }
  });

  it('removes what a killed run has left', async () => {
    const left = join(out, '.unfinished', tenant.project_id, `events/date=${YESTERDAY}`, 'part-0001.parquet');
    await mkdir(dirname(left), { recursive: true });
    await copyFile(join(out, tenant.project_id, `events/date=${YESTERDAY}`, 'part-0001.parquet'), left);
    expect(await exported({ again: true })).toMatchObject({ [`events/date=${YESTERDAY}`]: { files: 1 } });
    expect(await readdir(out)).not.toContain('.unfinished');
  });

  it('stops between two files when it is asked to', async () => {
    const stop = AbortSignal.abort(new Error('stopped by SIGTERM'));
    await expect(exported({ stop, again: true })).rejects.toThrow('stopped by SIGTERM');
  });
});

describe('the endpoint', () => {
  const ask = (body: object) =>
    internally(service, 'table-export', {
      tenant_id: tenant.tenant_id,
      project_id: tenant.project_id,
      table: 'events',
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-02T00:00:00Z',
      ...body,
    });

  it.each([
    ['another table', { table: 'api_keys' }],
    ['more than a day', { to: '2026-01-02T00:00:01Z' }],
    ['an empty range', { to: '2026-01-01T00:00:00Z' }],
    ['no range of events', { from: undefined, to: undefined }],
    ['a range of members', { table: 'segment_members' }],
    ['a file beyond the last', { file: 3, files: 2 }],
  ])('refuses %s', async (_what, body) => {
    expect((await ask(body)).code).toBe('VALIDATION_ERROR');
  });

  it('answers the internal secret only', async () => {
    const url = `${service.base_url}/v1/internal/table-export`;
    expect((await call(url, tenant.session_token, { body: {} })).status).toBe(401);
    const failed = exported({ api: { ...api, internal_secret: 'guessed' }, again: true });
    await expect(failed).rejects.toBeInstanceOf(CallFailed);
  });
});

it('events that are sent meanwhile are in a later export', async () => {
  const player_id = await identify('late');
  await sendBatch(service, tenant, [
    { event: 'login', player_id, timestamp: new Date(YESTERDAY_MS).toISOString() },
  ]);
  await settled();
  expect(Object.values(await exported({ again: true }))[0]?.rows).toBe(4);
});
