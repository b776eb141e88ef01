import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, callInternal, provisionTenant, type InternalApi } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import { launchBrowser } from '../console/chromium.ts';
import { runs } from '../engines/effort.ts';
import { freePort } from '../engines/free-port.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { until } from '../engines/until.ts';
import { browserDriver, serveClientPage, type ClientPage } from './browser-driver.ts';
import { processDrivers, type Driver, type Result } from './driver.ts';
import { FAULTS, FaultProxy } from './fault-proxy.ts';
import { DEPOSIT_EVENT, DEPOSIT_NAME, pagePlan, serverPlan, type Plan } from './plan.ts';
import { differencesOf, type ReadSide } from './read-side.ts';

// Six clients of others, unchanged, send to the real service, with faults on the way and a SIGKILL of the service.

const EVENTS = runs(500, { nightly: 10_000 });
const FAULTS_EACH = runs(4, { nightly: 40 });
/** The restart comes when so many of the events have been answered. */
const KILL_AFTER = 0.4;
const RUN_MS = 110_000 + EVENTS * 100;
const CATCH_UP_MS = 120_000;

/** A client and how it is run. */
interface Client {
  name: string;
  /** Settings of the client; none is about retries. */
  config: Record<string, unknown>;
  /** The first request that meets a fault, and how many lie between two faults. */
  first: number;
  every: number;
  /** Why its requests wait while the service restarts; the others are cut, again and again. */
  why_patient?: string;
  is_page?: true;
}

const CLIENTS: readonly Client[] = [
  { name: 'analytics-node', config: {}, first: 2, every: 3 },
  {
    name: 'rudder-node',
    config: {},
    first: 2,
    every: 3,
    why_patient: 'it tries three times in about two seconds and then loses the batch, so the outage must be shorter',
  },
  { name: 'segment-python', config: { gzip: true, max_queue_size: 100_000, upload_size: 40 }, first: 1, every: 1 },
  { name: 'rudder-python', config: { max_queue_size: 100_000, upload_size: 40 }, first: 1, every: 1 },
  {
    name: 'analytics-java',
    config: { flushQueueSize: 40 },
    first: 1,
    every: 1,
    why_patient: 'it tries three times, and pauses up to 30, 60 and 120 s before them',
  },
  { name: 'analytics-next', config: {}, first: 10, every: 20, is_page: true },
  {
    name: 'analytics-next, batching',
    config: { integrations: { 'Segment.io': { deliveryStrategy: { strategy: 'batching', config: { size: 20, timeout: 500 } } } } },
    first: 1,
    every: 2,
    is_page: true,
  },
];

/** One client's run: its tenant, its way to the service, its events and what it reported. */
interface Run {
  read: ReadSide;
  proxy: FaultProxy;
  plan: Plan;
  result: Result;
}

const stops: (() => Promise<unknown>)[] = [];
const done = new Map<string, Run>();
let api: InternalApi;

async function startService(dir: string): Promise<ServiceProcess> {
  const internal_secret = randomUUID() + randomUUID();
  const service = new ServiceProcess({
    data_dir: join(dir, 'data'),
    port: await freePort(),
    ingest_port: await freePort(),
    environment: {
      INTERNAL_SECRET: internal_secret,
      LOG_LEVEL: 'warn',
      RATE_INGEST_PER_SECOND: '1000000',
      RATE_INGEST_BURST: '1000000',
      RATE_IDENTIFY_PER_SECOND: '100000',
      RATE_ADMIN_PER_SECOND: '100000',
      ...NO_PROVIDERS,
    },
  });
  api = { base_url: service.base_url, internal_secret };
  stops.unshift(() => service.signal('SIGKILL'));
  await service.start();
  return service;
}

/** Prepares the run of a client in a tenant of its own. */
async function prepare(service: ServiceProcess, page: ClientPage, client: Client) {
  const tenant = await provisionTenant(api, {
    name: client.name,
    base_currency: 'EUR',
    project_name: client.name,
    admin_user_id: client.name.replaceAll(/\W+/g, '-'),
  });
  const read = { base_url: service.base_url, tenant };
  const headers = { authorization: `Bearer ${tenant.session_token}` };
  await call(`${service.base_url}/v1/tenant/config`, {
    method: 'PATCH',
    headers,
    body: { config: {} },
  });
  let write_key = tenant.api_key;
  let plan = serverPlan(EVENTS);
  if (client.is_page) {
    const { data: key } = await call<{ data: { key: string; client_secret: string } }>(
      `${service.base_url}/v1/projects/${tenant.project_id}/api-keys`,
      { method: 'POST', headers, body: { name: 'page', kind: 'client', allowed_origins: [page.origin] } },
    );
    write_key = key.key;
    plan = pagePlan(EVENTS, key.client_secret);
  }
  const proxy = await FaultProxy.start({
    target: { host: '127.0.0.1', port: Number(new URL(service.ingest_url).port) },
    first: client.first,
    every: client.every,
    most: FAULTS_EACH,
    withhold_from: EVENTS * KILL_AFTER,
    is_patient: client.why_patient !== undefined,
  });
  stops.unshift(() => proxy.close());
  return { read, proxy, plan, write_key };
}

/** Kills the service while it has taken events of every client whose answers no client has, and starts it again. */
async function killUnderLoad(service: ServiceProcess, proxies: readonly FaultProxy[]): Promise<void> {
  await until(
    'every client waits for an answer',
    (saw) => saw(proxies.map((proxy) => proxy.is_withholding)).every(Boolean),
    RUN_MS,
  );
  for (const proxy of proxies) proxy.cut();
  await service.signal('SIGKILL');
  await service.start();
  for (const proxy of proxies) proxy.restore();
}

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-conformance-'));
  // The user that Postgres runs as passes through it.
  await chmod(dir, 0o711);
  stops.unshift(() => rm(dir, { recursive: true, force: true }));
  const [service, browser, page] = await Promise.all([startService(dir), launchBrowser(), serveClientPage()]);
  stops.unshift(() => page.close(), () => browser.close());
  const drivers = new Map<string, Driver>(Object.entries(processDrivers(dir)));
  const prepared = await Promise.all(
    CLIENTS.map(async (client) => ({ client, ...(await prepare(service, page, client)) })),
  );
  const running = prepared.map(async ({ client, read, proxy, plan, write_key }) => {
    const drive = drivers.get(client.name) ?? browserDriver(browser, page);
    const { sequences } = plan;
    const result = await drive({ writeKey: write_key, apiHost: proxy.url, sequences, config: client.config });
    done.set(client.name, { read, proxy, plan, result });
  });
  await Promise.all([...running, killUnderLoad(service, prepared.map(({ proxy }) => proxy))]);
  // Waits until every accepted event is folded, in ClickHouse and mirrored.
  await callInternal(api, 'reconcile', { method: 'POST', body: { wait_ms: CATCH_UP_MS } });
}, RUN_MS);

afterAll(async () => {
  for (const stop of stops) await stop();
});

describe.each(CLIENTS)('$name', ({ name }) => {
  const run = (): Run => done.get(name) as Run;

  it('delivers every event', () => {
    expect(run().result).toMatchObject({ success: true });
    expect(run().result.sentBatches).toBeGreaterThan(0);
    expect(run().proxy.sent.size).toBe(run().plan.given);
  });

  it('met every fault and the kill, and sent again', () => {
    const { proxy } = run();
    for (const fault of FAULTS) expect(proxy.made[fault], fault).toBeGreaterThan(0);
    expect(proxy.repeated).toBeGreaterThan(0);
  });

  it('got no other answer than 200 from the service', () => {
    expect(run().proxy.refusals).toEqual([]);
  });

  it('has each event once, in its own order by time, with exact totals', async () => {
    const { read, plan } = run();
    await until('no player differs', async (saw) => {
      const differences = await Promise.all(plan.players.map((player) => differencesOf(read, player)));
      return saw(differences.flat()).length === 0;
    });
  });
});
