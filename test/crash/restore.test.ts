import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, readDevCredentials } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import type { DevCredentials } from '../../src/app/greeting.ts';
import { packageRoot } from '../../src/package-root.ts';
import { openEmbeddedClickHouse } from '../../src/platform/clickhouse/embedded.ts';
import { freePort } from '../engines/free-port.ts';
import { until } from '../engines/until.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { copyPreparedPostgres } from '../engines/shared-postgres.ts';
import { Load } from './load.ts';
import { Model } from './model.ts';
import { Random } from './random.ts';
import { verifyEvents, verifyService } from './verify.ts';

// Performs a backup and a restore as docs/backups.md describes them; commands and roles are read from that page.

const SEED = 20_260_103;
const PLAYERS = 40;
/**
 * Number of planned events at the end of each part. At the end a player has about 20 deposits of up to a million each,
 * half a million on average.
 */
const EVENTS = [600, 1_600, 2_600] as const;
const BIG_DEPOSITS = 8_000_000;
const RECIPIENTS = ['player-1', 'player-2', 'player-3'];

let work_dir: string;
let guide: string;
let service: ServiceProcess;
let tenant: DevCredentials;
let model: Model;
let load: Load;
/**
 * Players with large deposits, and all others. The second segment refers to the first, so ClickHouse must know its
 * members.
 */
let segments: { big: string; others: string };
let messages: number;

/** Runs commands of the guide beside the data folder. The operator commands are compiled already. */
async function run(commands: string): Promise<string> {
  const scripts = join(packageRoot, 'dist', 'scripts');
  const compiled = commands.replaceAll(/npm run (events|reconcile) --/g, `node ${scripts}/$1.js`);
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', compiled], {
    cwd: work_dir,
    env: { ...process.env, LOG_LEVEL: 'warn' },
  });
  return stdout;
}

/** Runs `npm run reconcile` until it reports no differences; then everything accepted is applied and copied. */
const reconciled = () =>
  until('0 differences', async (saw) => {
    const answer = saw(await run('npm run reconcile -- --wait-ms 30000').catch(() => ''));
    return /^0 differences$/m.test(answer);
  });

beforeAll(async () => {
  work_dir = await mkdtemp(join(tmpdir(), 'engagement-restore-'));
  // When root runs the test, Postgres runs as another user, and that user must be able to enter the folder.
  await chmod(work_dir, 0o711);
  guide = await readFile(join(packageRoot, 'docs', 'backups.md'), 'utf8');
  await copyPreparedPostgres(join(work_dir, 'data', 'postgres'));
  service = await processWith({});
  await service.start();
  const kept = await readDevCredentials(service.data_dir);
  if (kept === undefined) throw new Error('the service made no demo operator');
  tenant = kept;
  const random = new Random(SEED);
  model = new Model(random, PLAYERS);
  load = new Load({ model, random, ingest_url: service.ingest_url, api_key: tenant.api_key });
});
afterAll(async () => {
  await service?.signal('SIGKILL');
  await rm(work_dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});

/** Makes the service on the data folder, with these environment variables. */
async function processWith(environment: Record<string, string>): Promise<ServiceProcess> {
  const [port, ingest_port] =
    service === undefined
      ? [await freePort(), await freePort()]
      : [service.base_url, service.ingest_url].map((url) => Number(new URL(url).port));
  return new ServiceProcess({
    data_dir: join(work_dir, 'data'),
    port: port ?? 0,
    ingest_port: ingest_port ?? 0,
    environment: { LOG_LEVEL: 'warn', ...NO_PROVIDERS, ...environment },
  });
}

/** Runs the load until this many events are planned, then pauses it. */
async function loadUpTo(events: number): Promise<void> {
  load.up = true;
  await until(`${events} events are planned`, async (saw) => saw(model.events.length) >= events);
  load.up = false;
}

/** Stops the service under load; resolves when a request has got no answer. */
async function stopUnderLoad(): Promise<void> {
  load.up = true;
  const stopping = service.stop();
  await until('a request is left without an answer', async () =>
    model.events.some(({ ambiguous }) => ambiguous > 0),
  );
  load.up = false;
  await stopping;
}

async function admin<T>(path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${tenant.session_token}` };
  const options = body === undefined ? { headers } : { method: 'POST' as const, headers, body };
  return (await call<{ data: T }>(`${service.base_url}${path}`, options)).data;
}

const sectionOf = (heading: string) => guide.slice(guide.indexOf(`## ${heading}\n`)).split(/\n##+ /)[0] ?? '';

/** Starts the service with the roles that a section of the guide names. */
async function startWithRolesOf(section: string): Promise<void> {
  const [, roles] = /`ROLES=(\S+) npm start`/.exec(sectionOf(section)) ?? [];
  if (roles === undefined) throw new Error(`docs/backups.md names no roles in "${section}"`);
  service = await processWith({ ROLES: roles });
  await service.start();
}

/** Returns the code block of a section of the guide that begins with this text. */
function blockOf(section: string, begins: string): string {
  const found = [...sectionOf(section).matchAll(/```\w+\n([\s\S]*?)```/g)].find(([, block = '']) =>
    block.trim().startsWith(begins),
  );
  if (found?.[1] === undefined) throw new Error(`docs/backups.md has no block "${begins}" in "${section}"`);
  return found[1];
}

async function makeSegments(): Promise<typeof segments> {
  const create = async (name: string, condition: object) => {
    const definition = { operator: 'AND', conditions: [condition] };
    const body = { name, refresh_strategy: 'realtime', definition };
    return (await admin<{ id: string }>('/v1/segments', body)).id;
  };
  const deposits = { type: 'event', event: 'deposit_confirmed', aggregate: 'sum', property: 'amount' };
  const big = await create('Big', { ...deposits, op: 'gt', value: BIG_DEPOSITS });
  return { big, others: await create('Others', { type: 'segment', segment_id: big, op: 'not_in' }) };
}

/** Sends a campaign to the segment of others through a sandbox; returns the number of its rows. */
async function sendCampaign(): Promise<number> {
  for (const anonymous_id of RECIPIENTS) {
    await call(`${service.base_url}/v1/players/identify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.api_key}` },
      body: { anonymous_id, traits: { email: `${anonymous_id}@example.com` } },
    });
  }
  const channel = { name: 'x', channel: 'email' };
  const { id: provider_id } = await admin<{ id: string }>('/v1/messaging-providers', channel);
  const template = { ...channel, status: 'active', subject: 'x', body: 'x' };
  const { id: template_id } = await admin<{ id: string }>('/v1/templates', template);
  const campaign = { ...channel, segment_id: segments.others, template_id, provider_id };
  const { id } = await admin<{ id: string }>('/v1/campaigns', campaign);
  const { recipients_total } = await admin<{ recipients_total: number }>(`/v1/campaigns/${id}/send`, {});
  const stored = () => admin<unknown[]>(`/v1/messaging-providers/${provider_id}/messages`);
  await until('the messages are sent', async (saw) => saw((await stored()).length) === RECIPIENTS.length);
  return recipients_total;
}

/** The expected members of each segment, computed by the model. */
function expectedMembers(): { big: string[]; others: string[] } {
  // The segment adds up events, which stay facts when a deposit is reversed.
  const deposited = new Map([...model.expected()].map(([name]) => [name, 0]));
  for (const { player, body } of model.events) {
    const amount = body.event === 'deposit_confirmed' ? Number(body.properties['amount']) : 0;
    deposited.set(player, (deposited.get(player) ?? 0) + amount);
  }
  const all = [...deposited];
  const names = (wanted: boolean) =>
    all.filter(([, sum]) => sum > BIG_DEPOSITS === wanted).map(([name]) => name);
  return { big: names(true).sort(), others: names(false).sort() };
}

/** The players whose `segment_ids` contain each segment. */
async function actualMembers(): Promise<{ big: string[]; others: string[] }> {
  const players = await admin<{ anonymous_ids: string[]; segment_ids: string[] }[]>('/v1/players?limit=200');
  const of = (segment_id: string) =>
    players
      .filter(({ segment_ids }) => segment_ids.includes(segment_id))
      .map(({ anonymous_ids }) => anonymous_ids.join())
      .sort();
  return { big: of(segments.big), others: of(segments.others) };
}

/** The number of members of a segment in ClickHouse. */
async function sizeOf(segment_id: string): Promise<number> {
  const definition = { operator: 'AND', conditions: [{ type: 'segment', op: 'in', segment_id }] };
  return (await admin<{ estimated_size: number }>('/v1/segments/preview', { definition })).estimated_size;
}

/** Waits until Postgres and ClickHouse have the members of the model. */
async function membersAreRight(): Promise<void> {
  const { big, others } = expectedMembers();
  // Both segments have members, so that a mistake in either would show.
  expect(Math.min(big.length, others.length)).toBeGreaterThan(0);
  const expected = { big, others, sizes: [big.length, others.length] };
  await until('the members are those of the model', async (saw) => {
    const sizes = [await sizeOf(segments.big), await sizeOf(segments.others)];
    return isDeepStrictEqual(saw({ ...(await actualMembers()), sizes }), expected);
  });
}

it('continues from a backup made under load, with the events that were accepted after it', async () => {
  segments = await makeSegments();
  await loadUpTo(EVENTS[0]);
  await until('everybody is a member', async (saw) => saw((await actualMembers()).others.length) === PLAYERS);
  messages = await sendCampaign();
  expect(messages).toBe(PLAYERS);
  await stopUnderLoad();
  await run(blockOf('Embedded', 'test'));
  await service.start();
  await loadUpTo(EVENTS[1]);
  await service.stop();
  await run(blockOf('Embedded', 'tar -tf'));
  const appended = await run(blockOf('Embedded', 'DATA_DIR=data.old'));
  // Fewer than those of the load only by the events whose outcome was open at the backup, or that were sent again.
  expect(Number(/(\d+) events appended/.exec(appended)?.[1])).toBeGreaterThan((EVENTS[1] - EVENTS[0]) / 2);
  await startWithRolesOf('Starting after a restore');
  // The model is compared at the end of the tests, when every event has been accepted.
  await reconciled();
});

it('continues from Postgres alone, with ClickHouse rebuilt and nothing on the log again', async () => {
  await service.stop();
  await rm(join(service.data_dir, 'clickhouse'), { recursive: true });
  await startWithRolesOf('Rebuilding ClickHouse');
  const sql = await openDatabase();
  const resolved = async () => {
    const [row] = await sql.unsafe<[{ n: string }]>(
      "select count(*)::text as n from event_log.records join event_log.topics using (topic_id) where topic = 'player-events'",
    );
    return row.n;
  };
  const before = await resolved();
  const answer = await run('npm run reconcile -- --repair');
  expect(answer).toContain('rebuilt 1 projects');
  expect(answer).toMatch(/^0 differences$/m);
  expect(await resolved()).toBe(before);
  await sql.end();
  await service.stop();
  service = await processWith({});
  await service.start();
  await loadUpTo(EVENTS[2]);
  load.up = true;
  await load.finish();
  expect(load.faults).toBe(0);
  expect(await verifyService(tenant, tenant, model)).toEqual([]);
  await membersAreRight();
  await service.stop();
  expect(await inClickHouse()).toEqual({ differences: [], messages, sent: RECIPIENTS.length });
});

/** One session with the running database, as an operator opens it. */
async function openDatabase(): Promise<postgres.Sql> {
  const password = (await readFile(join(service.data_dir, 'postgres', 'password'), 'utf8')).trim();
  const lines = await readFile(join(service.data_dir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8');
  return postgres(`postgres://engagement:${password}@127.0.0.1:${lines.split('\n')[3]}/engagement`, {
    max: 1,
  });
}

/** The events and messages in the ClickHouse folder of the stopped service. */
async function inClickHouse() {
  const clickhouse = await openEmbeddedClickHouse(join(service.data_dir, 'clickhouse'));
  const count = async (table: string, condition = 'true') => {
    const question = `select count() as n from ${table} final where ${condition}`;
    return Number((await clickhouse.query<{ n: string }>(question))[0]?.n);
  };
  try {
    const { differences } = await verifyEvents(clickhouse, tenant, model);
    return {
      differences,
      messages: await count('message_sends'),
      sent: await count('events', "event = 'email_sent'"),
    };
  } finally {
    await clickhouse.close();
  }
}
