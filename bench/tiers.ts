import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestService } from '../test/engines/service.ts';
import { startBenchServer } from './child.ts';
import { mixedEvents } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { callApi, type Caller } from './journey-client.ts';
import { alternate, perSecond, percentile, ratios, result, type Result } from './measure.ts';
import { EVENTS_PER_SECOND, post, sendSteadily } from './steady.ts';

const PROBES = 200;
const WARM_UP_MS = 5_000;
const POLL_MS = 5;
/** What is not seen after this counts as if it took so long. */
const LONGEST_WAIT_MS = 30_000;
const EVENTS = 50_000;
const PLAYERS = 5_000;
const ROUNDS = 5;

type Target = Caller & Record<string, string>;

/** How long after the accepted event that meets its requirements a tier is visible, on a service with every role. */
export async function benchTiers(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const target = server.ready as Target;
  try {
    const requirements = { lifetime_deposit_subunit: 1_000_000_000 };
    await callApi(target, 'POST', '/v1/vip-tiers', { code: 'gold', name: 'Gold', rank: 3, requirements });
    const alone = await latencies(target, 'alone');
    const stop = new AbortController();
    const background = sendSteadily(target, stop.signal);
    await sleep(WARM_UP_MS);
    const beside = await latencies(target, 'beside');
    stop.abort();
    await background;
    return [...lines('alone', alone), ...lines(`at ${EVENTS_PER_SECOND} events/s`, beside)];
  } finally {
    await server.stop();
  }
}

function lines(label: string, waits_ms: readonly number[]): Result[] {
  const note = `${PROBES} players, one after the other, read by GET of the tier`;
  const line = (name: string, fraction: number, at_most: number) =>
    result(
      `deposit accepted → tier visible ${label}, ${name} in ms`,
      [percentile(waits_ms, fraction)],
      { at_most },
      note,
    );
  return [line('p50', 0.5, 200), line('p99', 0.99, 1_000)];
}

async function latencies(target: Target, label: string): Promise<number[]> {
  const waits_ms: number[] = [];
  for (let i = 0; i < PROBES; i++) {
    const player_id = await identify(target, `${label}-${i}`);
    const properties = {
      amount: 1_000_000_000,
      currency: 'EUR',
      transaction_id: randomUUID(),
      payment_method: 'card',
    };
    await post(target, { event: 'deposit_confirmed', player_id, properties });
    const accepted_ms = performance.now();
    let waited_ms = 0;
    for (; waited_ms < LONGEST_WAIT_MS; await sleep(POLL_MS)) {
      const tier = await callApi(target, 'GET', `/v1/players/${player_id}/tier`);
      waited_ms = performance.now() - accepted_ms;
      if (tier['current_tier_code'] === 'gold') break;
    }
    waits_ms.push(waited_ms);
  }
  return waits_ms;
}

async function identify(target: Target, anonymous_id: string): Promise<string> {
  const { base_url, api_key = '' } = target;
  const caller = { base_url, session_token: api_key };
  const { player_id } = await callApi(caller, 'POST', '/v1/players/identify', { anonymous_id });
  return String(player_id);
}

/** The fold of a tenant with five tiers ÷ of one without; the amounts of the tiers are crossed now and then. */
export async function benchFoldWithTiers(service: TestService): Promise<Result[]> {
  const tiered = { ...service, ...(await service.newTenant()) };
  for (const rank of [0, 1, 2, 3, 4]) {
    const requirements = { lifetime_wagered_subunit: rank * 100_000 };
    const body = { code: `t${rank}`, name: `T${rank}`, rank, requirements };
    await callApi(tiered, 'POST', '/v1/vip-tiers', body);
  }
  let round = 0;
  const pairs = await alternate(
    ROUNDS,
    () => foldEndToEnd(tiered, mixedEvents(EVENTS, PLAYERS, `tiered${round++}`)),
    () => foldEndToEnd(service, mixedEvents(EVENTS, PLAYERS, `bare${round}`)),
  );
  const note = `${EVENTS} events of ${PLAYERS} players per run`;
  return [result('fold with five tiers ÷ without', ratios(pairs, perSecond), { at_least: 0.98 }, note)];
}
