import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { signatureOf } from '../src/http/auth/webhook-signature.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { makeTemplate } from './bonus-client.ts';
import { copyGrants, countWebhooks, selectNewcomers } from './bonus-seed-queries.ts';
import { startBenchServer } from './child.ts';
import { callAll, postJson, type Answered } from './http-calls.ts';
import { callApi, type Caller } from './journey-client.ts';
import { percentile, result, type Result } from './measure.ts';
import { insertPlayers } from './seed-queries.ts';

const CONNECTIONS = 32;
const WARM_UP = 1_000;
/** Events of each measurement at full load, and of the one at a steady rate. */
const EVENTS = 8_000;
const ROUNDS = 3;
/** Half of the rate that the service must take. */
const STEADY_PER_SECOND = 400;
const STEADY_EVENTS = 6_000;
/** The life of a bonus at its platform: each grant gets all of them, one after the other. */
const LIFE = [
  { event: 'bonus.activated', data: {} },
  { event: 'bonus.progress', data: { total_wagered: 2_000 } },
  { event: 'bonus.progress', data: { total_wagered: 5_000 } },
  { event: 'bonus.completed', data: { released_amount: 1_000 } },
] as const;
const GRANTS = (WARM_UP + EVENTS * ROUNDS + STEADY_EVENTS) / LIFE.length;

type Target = Caller & Record<string, string>;
interface Adapter {
  slug: string;
  secret: string;
}

/** Signed, distinct events of a platform about live grants, on a service with every role. */
export async function benchBonusWebhooks(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const target = server.ready as Target;
  const owner = connectPool(target['postgres_url'] ?? '', { max: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  try {
    const { adapter, grant_ids } = await prepare(target, owner);
    const events = eventsOf(grant_ids);
    const send = (event: object) => sendEvent(target, adapter, agent, event);
    await callAll(events.splice(0, WARM_UP), CONNECTIONS, send);
    const rates: number[] = [];
    const waits_ms: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const taken = await callAll(events.splice(0, EVENTS), CONNECTIONS, send);
      rates.push(taken.per_second);
      waits_ms.push(...taken.waits_ms);
    }
    const steady = await steadily(events.splice(0, STEADY_EVENTS), send);
    await check(owner, target);
    return lines({ rates, waits_ms, steady });
  } finally {
    agent.destroy();
    await owner.end({ timeout: 5 });
    await server.stop();
  }
}

function lines({
  rates,
  waits_ms,
  steady,
}: {
  rates: number[];
  waits_ms: number[];
  steady: Answered;
}): Result[] {
  const times = (values: readonly number[]) =>
    `p50 ${percentile(values, 0.5).toFixed(1)}, p99 ${percentile(values, 0.99).toFixed(1)} ms`;
  const load = `${EVENTS} events per run over ${CONNECTIONS} connections; ${times(waits_ms)}`;
  const rate = `sent ${steady.per_second.toFixed(0)} per second, half of the rate that must be taken; ${times(steady.waits_ms)}`;
  return [
    result('webhooks of bonus events, per second', rates, { at_least: 800 }, load),
    result(
      `webhook answered at ${STEADY_PER_SECOND} per second, p99 in ms`,
      [percentile(steady.waits_ms, 0.99)],
      { at_most: 50 },
      rate,
    ),
    result(
      'webhook answered under full load, p99 in ms',
      [percentile(waits_ms, 0.99)],
      { at_most: 10_000 },
      'informative: as many as are taken',
    ),
  ];
}

/** An adapter, and pending grants that its platform has accepted; the first one was made by the API. */
async function prepare(target: Target, owner: Db): Promise<{ adapter: Adapter; grant_ids: string[] }> {
  const { tenant_id, project_id } = target;
  const template_id = await makeTemplate(target);
  await insertPlayers(owner, { tenant_id, project_id }, GRANTS + 1);
  const [player_id] = await selectNewcomers(owner, { tenant_id, project_id }, 1);
  // By the built-in sandbox: the project has no adapter yet.
  const body = { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null };
  const { id } = await callApi(target, 'POST', '/v1/bonus-grants', body);
  const slug = `bench-${randomUUID().slice(0, 8)}`;
  const made = await callApi(target, 'POST', '/v1/adapters', { slug, kind: 'sandbox' });
  const grant_ids = await copyGrants(owner, { grant_id: String(id), adapter_slug: slug, count: GRANTS });
  return { adapter: { slug, secret: String(made['secret']) }, grant_ids };
}

/** The lives of all grants: first the first event of each, then the second. */
function eventsOf(grant_ids: readonly string[]): object[] {
  const ts = new Date().toISOString();
  return LIFE.flatMap(({ event, data }) =>
    grant_ids.map((grant_id) => ({
      event,
      event_id: randomUUID(),
      ts,
      grant_id,
      platform_bonus_id: `pb-${grant_id}`,
      data,
    })),
  );
}

type Send = (event: object) => Promise<number>;

/** Sends the events at a steady rate, whether the ones before were answered or not. */
async function steadily(events: readonly object[], send: Send): Promise<Answered> {
  const started_ms = performance.now();
  const sent: Promise<number>[] = [];
  for (const [i, event] of events.entries()) {
    const wait_ms = started_ms + (i * 1_000) / STEADY_PER_SECOND - performance.now();
    if (wait_ms > 1) await sleep(wait_ms);
    sent.push(send(event));
  }
  const per_second = (events.length / (performance.now() - started_ms)) * 1_000;
  return { per_second, waits_ms: await Promise.all(sent) };
}

/** Sends one signed event; resolves with how long the answer took, in milliseconds. Rejects unless it moved the grant. */
function sendEvent(target: Target, { slug, secret }: Adapter, agent: Agent, event: object): Promise<number> {
  const body = JSON.stringify(event);
  const timestamp_s = Math.floor(Date.now() / 1_000);
  const headers = {
    'x-service-signature': signatureOf(secret, timestamp_s, body),
    'x-service-timestamp': String(timestamp_s),
  };
  const url = `${target.base_url}/v1/adapters/${slug}/webhooks/bonus-events`;
  return postJson(agent, { url, headers, body }, { status: 200, expected: '"applied":true' });
}

/** Every event is in the history of its grant and in the ledger, once, and every grant has come to its end. */
async function check(owner: Db, target: Target): Promise<void> {
  const expected = WARM_UP + EVENTS * ROUNDS + STEADY_EVENTS;
  const { in_history, in_ledger, completed } = await countWebhooks(owner, target);
  // The one that the API made is of the sandbox.
  if (in_history !== expected || in_ledger !== expected || completed !== expected / LIFE.length) {
    throw new Error(`of ${expected} events ${in_history} had an effect and ${in_ledger} are in the ledger`);
  }
}
