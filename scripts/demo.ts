import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DevCredentials } from '../src/app/greeting.ts';
import { readCommandConfig } from '../src/config.ts';
import { freePort } from '../src/platform/postgres/embedded-server.ts';
import { readPurchases, toEvent } from './cdnow.ts';
import { showJourney } from './demo-journey.ts';
import { fillDemo } from './demo-kept.ts';
import { stream, sumOf, untilVisible, type Player } from './demo-purchases.ts';
import { count, dollars, say } from './say.ts';
import {
  call,
  newSignInUrl,
  provisionTenant,
  readDevCredentials,
  type ProvisionedTenant,
} from './service-api.ts';
import { isReady, ServiceProcess } from './service-process.ts';

const VISIBLE_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const TIMELINE_ENTRIES = 5;

const USAGE = `usage: npm run demo -- [--own | --keep]

Streams the CDNOW purchases (scripts/data/README.md) through the HTTP API and accounts for every cent. Then simulates
a journey over them on a virtual clock, and starts one run of it in real time.
Uses the service that runs on DATA_DIR, in a tenant of its own; starts one on a temporary folder when none
runs, or with --own.

--keep fills the project that the console opens with instead, on the service that runs on DATA_DIR: the purchases as if
the last one was yesterday and in the project's base currency, players with addresses and some who excluded themselves,
tiers, segments, a campaign with two variants that was sent, a journey with runs, and bonuses.`;

/** The service the demo talks to. */
interface Target {
  base_url: string;
  ingest_url: string;
  internal_secret: string;
  stop(): Promise<void>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { own: { type: 'boolean' }, keep: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help === true) return say(USAGE);
  if (values.own === true && values.keep === true) throw new Error('choose one of --own and --keep');
  const purchases = await readPurchases();
  if (values.keep === true) {
    const running = await runningService();
    await fillDemo(running, purchases);
    say(`\nOpen ${await newSignInUrl(running, running.user_id)}`);
    return;
  }
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
    const demo = { ...target, tenant };
    const started_ms = performance.now();
    await stream(demo, purchases.map(toEvent));
    const accepted_ms = performance.now() - started_ms;
    const customers = new Set(purchases.map(({ customer_id }) => customer_id)).size;
    const players = await untilVisible(demo, customers, expected);
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

/** The service that runs on DATA_DIR, with the demo that it made; rejects when none runs. */
async function runningService(): Promise<DevCredentials> {
  const kept = await readDevCredentials(readCommandConfig().data_dir);
  if (kept === undefined || !(await isReady(kept.ops_url ?? kept.base_url))) {
    throw new Error(
      'no service runs on DATA_DIR: start it with `npm start`, then run this in a second terminal',
    );
  }
  return kept;
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

function rate(events: number, took_ms: number): string {
  return `${count(Math.round((events * 1000) / took_ms))} events/s`;
}

main().catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
