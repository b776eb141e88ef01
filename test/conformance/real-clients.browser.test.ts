import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../console/chromium.ts';
import { runs } from '../engines/effort.ts';
import { until } from '../engines/until.ts';
import { browserDriver, serveClientPage, type ClientPage } from './browser-driver.ts';
import { processDrivers, type Driver, type GivenEvent, type Result } from './driver.ts';
import { FAULTS, type FaultProxy } from './fault-proxy.ts';
import { Host } from './host.ts';
import { DEPOSIT_EVENT, DEPOSIT_NAME, pagePlan, serverPlan, type Plan } from './plan.ts';
import { differencesOf, type ReadSide } from './read-side.ts';

// Six clients of others, unchanged, send to the real service.

const EVENTS = runs(500, { nightly: 10_000 });
const FAULTS_EACH = runs(4, { nightly: 40 });
/** The service is killed when this part of a client's events has been answered. */
const KILL_AFTER = 0.4;
const RUN_MS = 160_000 + EVENTS * 100;
const PAUSE_MS = 100;

/** A client and how it is run. */
interface Client {
  name: string;
  /** Settings of the client; none is about retries. */
  config: Record<string, unknown>;
  /** The first request that meets a fault, and the distance of the next ones. */
  first: number;
  every: number;
  pause_ms?: number;
  /** Why its requests wait while the service restarts or answers 503; those of other clients are cut or refused, again and again. */
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
    why_patient:
      'it tries four times in about two seconds and then loses the batch, so an outage must be shorter',
  },
  {
    name: 'segment-python',
    config: { gzip: true, max_queue_size: 100_000, upload_size: 40 },
    first: 1,
    every: 1,
  },
  { name: 'rudder-python', config: { max_queue_size: 100_000, upload_size: 40 }, first: 1, every: 1 },
  {
    name: 'analytics-java',
    config: { flushQueueSize: 40 },
    first: 1,
    every: 1,
    why_patient: 'it tries three times, and pauses for up to 30, 60 and 120 s before them',
  },
  {
    name: 'analytics-next',
    config: {},
    first: 10,
    every: 20,
    // One request for each event: what waits in the page for over a minute would look like a wrong clock.
    pause_ms: 1_000,
    is_page: true,
  },
  {
    name: 'analytics-next, batching',
    config: {
      integrations: {
        'Segment.io': { deliveryStrategy: { strategy: 'batching', config: { size: 20, timeout: 500 } } },
      },
    },
    first: 1,
    every: 1,
    // After a fault everything that came meanwhile is one batch.
    pause_ms: 1_500,
    is_page: true,
  },
];

let host: Host;
let browser: Browser;
let page: ClientPage;
let drivers: Map<string, Driver>;

beforeAll(async () => {
  [host, browser, page] = await Promise.all([Host.start(), launchBrowser(), serveClientPage()]);
  drivers = new Map<string, Driver>(Object.entries(processDrivers(host.dir)));
});

afterAll(async () => {
  await browser.close();
  await page.close();
  await host.close();
});

function driverOf(name: string): Driver {
  return drivers.get(name) ?? browserDriver(browser, page);
}

/** Makes a tenant and the key of the client; its plan is made for the key. */
async function keyFor(client: Pick<Client, 'is_page'>) {
  const read = await host.newTenant();
  if (!client.is_page) return { read, write_key: read.tenant.api_key, client_secret: '' };
  const allowed_origins = [page.origin];
  const { key, client_secret } = await host.newKey(read, { name: 'page', kind: 'client', allowed_origins });
  return { read, write_key: key, client_secret };
}

/** The differences of all players of a plan, once there are none. */
async function expectExact(read: ReadSide, plan: Plan): Promise<void> {
  await until('no player differs from the plan', async (saw) => {
    const differences = await Promise.all(plan.players.map((player) => differencesOf(read, player)));
    return saw(differences.flat()).length === 0;
  });
}

describe('with faults on the way and a SIGKILL of the service', () => {
  interface Run {
    read: ReadSide;
    proxy: FaultProxy;
    plan: Plan;
    result: Result;
  }
  const done = new Map<string, Run>();
  const runOf = (name: string): Run => done.get(name) as Run;

  async function prepare(client: Client) {
    const { read, write_key, client_secret } = await keyFor(client);
    await host.configure(read, { segment_events: { [DEPOSIT_NAME]: DEPOSIT_EVENT } });
    const { first, every, why_patient, is_page = false, pause_ms = PAUSE_MS } = client;
    const proxy = await host.newProxy({
      faults: { first, every, most: FAULTS_EACH },
      withhold_from: EVENTS * KILL_AFTER,
      is_patient: why_patient !== undefined,
      has_visitors: is_page,
    });
    const plan = is_page ? pagePlan(EVENTS, pause_ms, client_secret) : serverPlan(EVENTS, pause_ms);
    return { client, read, proxy, plan, write_key };
  }

  /** Kills the service while it has taken events of every client whose answers no client has, and starts it again. */
  async function killUnderLoad(proxies: readonly FaultProxy[]): Promise<void> {
    await until(
      'every client waits for an answer',
      (saw) => {
        if (done.size > 0) throw new Error(`${[...done.keys()].join()} ended before the kill`);
        return saw(proxies.map((proxy) => proxy.is_withholding)).every(Boolean);
      },
      RUN_MS,
    );
    for (const proxy of proxies) proxy.cut();
    await host.service.signal('SIGKILL');
    await host.service.start();
    for (const proxy of proxies) proxy.restore();
  }

  beforeAll(async () => {
    const prepared = await Promise.all(CLIENTS.map(prepare));
    const running = prepared.map(async ({ client: { name, config }, read, proxy, plan, write_key }) => {
      const task = { writeKey: write_key, apiHost: proxy.url, sequences: plan.sequences, config };
      done.set(name, { read, proxy, plan, result: await driverOf(name)(task) });
    });
    await Promise.all([...running, killUnderLoad(prepared.map(({ proxy }) => proxy))]);
    for (const { read } of done.values()) await host.catchUp(read);
  }, RUN_MS);

  describe.each(CLIENTS)('$name', ({ name }) => {
    it('delivers every event, and none is refused', () => {
      const { result, proxy, plan } = runOf(name);
      expect(result).toEqual({ success: true, sentBatches: expect.any(Number) as number });
      expect(result.sentBatches).toBeGreaterThan(0);
      expect(proxy.sent.size).toBe(plan.given);
      // A busy service may ask for a pause, which a client takes, or the load balancer for it.
      expect(proxy.refusals.filter(({ status }) => status !== 503)).toEqual([]);
    });

    it('met every fault and the kill, and sent again', () => {
      const { proxy } = runOf(name);
      for (const fault of FAULTS) expect(proxy.made[fault], fault).toBeGreaterThan(0);
      expect(proxy.repeated).toBeGreaterThan(0);
    });

    it('has each event once, in its own order by time, with exact totals', async () => {
      const { read, plan } = runOf(name);
      await expectExact(read, plan);
    });
  });
});

describe.concurrent('what our answers make a client do', () => {
  const SERVERS = ['analytics-node', 'rudder-node', 'segment-python', 'rudder-python', 'analytics-java'];
  const config = (name: string) => CLIENTS.find((client) => client.name === name)?.config ?? {};

  async function drive(name: string, write_key: string, events: GivenEvent[], more: Client['config'] = {}) {
    const proxy = await host.newProxy({ has_visitors: true });
    const sequences = [{ delayMs: 0, events }];
    const result = await driverOf(name)({
      writeKey: write_key,
      apiHost: proxy.url,
      sequences,
      config: { ...config(name), ...more },
    });
    return { proxy, result };
  }

  const opened = (n: number): GivenEvent => ({
    type: 'track',
    userId: 'player-1',
    event: 'Game Opened',
    properties: { n },
  });
  /** Money without an integer amount. */
  const decimal: GivenEvent = {
    type: 'track',
    userId: 'player-1',
    event: DEPOSIT_EVENT,
    properties: { revenue: 25.5, currency: 'EUR', transaction_id: 't-1', payment_method: 'card' },
  };

  it.each(SERVERS)(
    '%s gives up what is refused, says so, and has delivered what is accepted in part',
    async (name) => {
      const { read, write_key } = await keyFor({});
      const [unknown, refused, partly] = await Promise.all([
        drive(name, 'no-key', [opened(1)]),
        drive(name, write_key, [decimal]),
        drive(name, write_key, [opened(0), decimal, opened(2)]),
      ]);
      expect(unknown.proxy.refusals.map(({ status }) => status)).toEqual([401]);
      expect(unknown.result.success).toBe(false);
      expect(refused.proxy.refusals.map(({ status }) => status)).toEqual([400]);
      expect(refused.result.success).toBe(false);
      expect(partly.proxy.refusals).toEqual([]);
      expect(partly.proxy.repeated).toBe(0);
      expect(partly.result.success).toBe(true);
      await host.catchUp(read);
      expect(await differencesOf(read, playerWith([0, 2]))).toEqual([]);
    },
  );

  it('analytics-next gives up what a client key may not send', async () => {
    const { read, write_key } = await keyFor({ is_page: true });
    const money: GivenEvent = {
      type: 'track',
      anonymousId: 'visitor-1',
      event: DEPOSIT_EVENT,
      properties: { amount: 1 },
    };
    const { proxy, result } = await drive('analytics-next', write_key, [
      money,
      { ...opened(1), anonymousId: 'visitor-1' },
    ]);
    expect(proxy.refusals.map(({ status }) => status)).toEqual([403]);
    expect(proxy.repeated).toBe(0);
    expect(result).toMatchObject({ success: false, error: '403' });
    await host.catchUp(read);
    const expected = { ...playerWith([1]), ids: { anonymous_id: 'visitor-1' } };
    expect(await differencesOf(read, expected)).toEqual([]);
  });

  // Not analytics-java, which pauses for up to 30 s, nor rudder-node, which loses a batch that is refused three times.
  it.each(['analytics-node', 'segment-python', 'rudder-python'])(
    '%s waits for its rate after 429, and loses nothing',
    async (name) => {
      const read = await host.newTenant();
      const ingest_rate = { per_minute: 60, burst: 1 };
      const { key } = await host.newKey(read, { name: 'slow', kind: 'server', ingest_rate });
      const plan = serverPlan(64, 0);
      const { proxy, result } = await drive(
        name,
        key,
        plan.sequences.flatMap(({ events }) => events),
        // Several requests a second, whatever the machine does meanwhile.
        name === 'analytics-node' ? { flushAt: 10 } : { upload_size: 10 },
      );
      expect(result).toMatchObject({ success: true });
      expect(new Set(proxy.refusals.map(({ status }) => status))).toEqual(new Set([429]));
      await host.catchUp(read);
      await expectExact(read, plan);
    },
  );

  function playerWith(numbers: readonly number[]) {
    return {
      ids: { external_id: 'player-1' },
      events: numbers.map((n) => ({ n, event: 'custom_game_opened' })),
      totals: { total_deposited: 0, total_wagered: 0, bet_count: 0, session_count: 0 },
      last_identify: undefined,
    };
  }
});

it('a program that stops after 1,000 requests has lost none, while the service restarts', async () => {
  const { read, write_key } = await keyFor({});
  const proxy = await host.newProxy({});
  const plan = serverPlan(1_000, 5);
  const task = { writeKey: write_key, apiHost: proxy.url, sequences: plan.sequences, config: { flushAt: 1 } };
  const stopped = until(() => proxy.answered > 100).then(async () => {
    await host.service.stop();
    await host.service.start();
  });
  const [result] = await Promise.all([driverOf('analytics-node')(task), stopped]);
  expect(result).toMatchObject({ success: true });
  expect(proxy.requests).toBeGreaterThan(1_000);
  await host.catchUp(read);
  await expectExact(read, plan);
});
