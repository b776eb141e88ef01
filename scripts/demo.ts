import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readCommandConfig } from '../src/config.ts';
import { freePort } from '../src/platform/postgres/embedded-server.ts';
import { readPurchases, toEvent, type PurchaseEvent } from './cdnow.ts';
import { showJourney } from './demo-journey.ts';
import { ProgressBar } from './progress-bar.ts';
import { count, dollars, say } from './say.ts';
import { call, provisionTenant, readDevCredentials, type ProvisionedTenant } from './service-api.ts';
import { isReady, ServiceProcess } from './service-process.ts';

const BATCH = 100;
const CONNECTIONS = 4;
const PAGE = 200;
const VISIBLE_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const TIMELINE_ENTRIES = 5;

const USAGE = `usage: npm run demo -- [--own]

Streams the CDNOW purchases (scripts/data/README.md) through the HTTP API and accounts for every cent. Then simulates
a journey over them on a virtual clock, and starts one run of it in real time.
Uses the service that runs on DATA_DIR, in a tenant of its own; starts one on a temporary folder when none
runs, or with --own.`;

/** The service the demo talks to. */
interface Target {
  base_url: string;
  ingest_url: string;
  internal_secret: string;
  stop(): Promise<void>;
}

/** The fields of a player that the demo reads. */
interface Player {
  id: string;
  anonymous_ids: string[];
  total_deposited: number;
  first_seen_at: string;
  last_seen_at: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { own: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help === true) return say(USAGE);
  const purchases = await readPurchases();
  const expected = purchases.reduce((sum, { amount_cents }) => sum + BigInt(amount_cents), 0n);
  say(`CDNOW sample: ${count(purchases.length)} purchases worth ${dollars(expected)}\n`);
  const target = await findTarget(values.own === true);
  try {
    const tenant = await provisionTenant(target, {
      name: 'CDNOW demo',
      base_currency: 'USD',
      project_name: 'CDNOW',
      admin_user_id: `cdnow-demo-${randomUUID()}`,
    });
    const started_ms = performance.now();
    await stream(target, tenant, purchases.map(toEvent));
    const accepted_ms = performance.now() - started_ms;
    const customers = new Set(purchases.map(({ customer_id }) => customer_id)).size;
    const players = await untilVisible(target, tenant, customers, expected);
    const visible_ms = performance.now() - started_ms;
    const total = sumOf(players);
    say('');
    say(`players           ${count(players.length)} of ${count(customers)} customers`);
    say(`sum of the file   ${dollars(expected)}`);
    say(`sum of totals     ${dollars(total)}`);
    say(`accepted          ${rate(purchases.length, accepted_ms)} (durable, answered 202)`);
    say(
      `totals visible    ${rate(purchases.length, visible_ms)}, all players read ${(visible_ms / 1000).toFixed(2)} s after the first request`,
    );
    await showExample(target, tenant, players);
    if (total !== expected || players.length !== customers) {
      throw new Error(`the totals are off by ${dollars(total - expected)}`);
    }
    say('\nEvery cent is accounted for.');
    const player_of = new Map(
      players.flatMap(({ id, anonymous_ids }) => anonymous_ids.map((anonymous_id) => [anonymous_id, id])),
    );
    await showJourney({ base_url: target.base_url, tenant }, purchases, player_of);
  } finally {
    await target.stop();
  }
}

/** The service that runs on DATA_DIR, or a new one on a temporary folder, which `stop` deletes. */
async function findTarget(own: boolean): Promise<Target> {
  const kept = own ? undefined : await readDevCredentials(readCommandConfig().data_dir);
  if (kept !== undefined && (await isReady(kept.ops_url ?? kept.base_url))) {
    say(`Using the service at ${kept.base_url}.`);
    return { ...kept, stop: () => Promise.resolve() };
  }
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-demo-'));
  const internal_secret = randomUUID() + randomUUID();
  const service = new ServiceProcess({
    data_dir,
    port: await freePort(),
    ingest_port: await freePort(),
    environment: { INTERNAL_SECRET: internal_secret, LOG_LEVEL: 'warn' },
  });
  const stop = async () => {
    await service.stop();
    await rm(data_dir, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  process.stdout.write('Starting a service of its own … ');
  const started_ms = performance.now();
  try {
    await service.start();
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  say(`ready at ${service.base_url} after ${((performance.now() - started_ms) / 1000).toFixed(1)} s.`);
  return { base_url: service.base_url, ingest_url: service.ingest_url, internal_secret, stop };
}

/** Sends all events in batches, over {@link CONNECTIONS} connections at once. */
async function stream(
  { ingest_url }: Target,
  { api_key }: ProvisionedTenant,
  events: readonly PurchaseEvent[],
): Promise<void> {
  const bar = new ProgressBar('sending', events.length);
  let next = 0;
  const sendBatches = async () => {
    while (next < events.length) {
      const batch = events.slice(next, next + BATCH);
      next += batch.length;
      const answer = await call<{ data: { accepted: number; rejected: unknown[] } }>(
        `${ingest_url}/v1/events/batch`,
        { method: 'POST', headers: { authorization: `Bearer ${api_key}` }, body: { events: batch } },
      );
      if (answer.data.accepted !== batch.length) {
        throw new Error(`events were refused: ${JSON.stringify(answer.data.rejected)}`);
      }
      bar.advance(batch.length);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendBatches));
}

/** Reads all players until every customer is there with the expected sum, or the time-out is over. */
async function untilVisible(
  target: Target,
  tenant: ProvisionedTenant,
  customers: number,
  expected: bigint,
): Promise<Player[]> {
  const deadline_ms = Date.now() + VISIBLE_TIMEOUT_MS;
  for (;;) {
    const players = await readPlayers(target, tenant);
    if ((players.length === customers && sumOf(players) === expected) || Date.now() > deadline_ms)
      return players;
    await sleep(POLL_MS);
  }
}

async function readPlayers(target: Target, tenant: ProvisionedTenant): Promise<Player[]> {
  const players: Player[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: Player[]; meta: { next_cursor: string | null } } = await asAdmin(
      target,
      tenant,
      `/v1/players?limit=${PAGE}${after}`,
    );
    players.push(...page.data);
    cursor = page.meta.next_cursor;
  }
  return players;
}

/** Shows the customer who spent most, from the totals and from the history. */
async function showExample(
  target: Target,
  tenant: ProvisionedTenant,
  players: readonly Player[],
): Promise<void> {
  const [best] = players.toSorted((a, b) => b.total_deposited - a.total_deposited);
  if (best === undefined) return;
  say(`\nThe customer who spent most: ${best.anonymous_ids.join(', ')} (player ${best.id})`);
  say(
    `  total_deposited ${dollars(BigInt(best.total_deposited))}, ${best.first_seen_at.slice(0, 10)} to ${best.last_seen_at.slice(0, 10)}`,
  );
  for (const entry of await readTimeline(target, tenant, best.id)) {
    const { amount, cds, transaction_id } = entry.properties;
    say(
      `  ${entry.timestamp.slice(0, 10)}  ${entry.event}  ${dollars(BigInt(amount)).padStart(10)}  ${String(cds).padStart(2)} CDs  ${transaction_id}`,
    );
  }
}

interface TimelineEntry {
  event: string;
  timestamp: string;
  properties: { amount: number; cds: number; transaction_id: string };
}

/** The last entries of a player. ClickHouse gets them a little later than Postgres gets the totals, so it polls. */
async function readTimeline(target: Target, tenant: ProvisionedTenant, id: string): Promise<TimelineEntry[]> {
  const deadline_ms = Date.now() + VISIBLE_TIMEOUT_MS;
  for (;;) {
    const path = `/v1/players/${id}/timeline?limit=${TIMELINE_ENTRIES}`;
    const { data } = await asAdmin<{ data: TimelineEntry[] }>(target, tenant, path);
    if (data.length > 0 || Date.now() > deadline_ms) return data;
    await sleep(POLL_MS);
  }
}

function asAdmin<Answer>(target: Target, tenant: ProvisionedTenant, path: string): Promise<Answer> {
  return call<Answer>(`${target.base_url}${path}`, {
    headers: { authorization: `Bearer ${tenant.session_token}` },
  });
}

function sumOf(players: readonly Player[]): bigint {
  return players.reduce((sum, { total_deposited }) => sum + BigInt(total_deposited), 0n);
}

function rate(events: number, took_ms: number): string {
  return `${count(Math.round((events * 1000) / took_ms))} events/s`;
}

main().catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
