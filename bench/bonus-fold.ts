import { setTimeout as sleep } from 'node:timers/promises';
import { consumeBets } from '../src/bonuses/wagering/consume.ts';
import type { EventBody } from '../src/ingest/events/validate.ts';
import { GROUPS, TOPICS } from '../src/platform/event-log/topics.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { makeTemplate } from './bonus-client.ts';
import { countCounted, endGrants, selectIdentified } from './bonus-seed-queries.ts';
import { mixedEvents } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { callApi, type Caller } from './journey-client.ts';
import { alternate, median, perSecond, ratios, result, type Result, type Sample } from './measure.ts';
import { postgresUrlOf } from './platform.ts';

const EVENTS = 30_000;
const PLAYERS = 5_000;
/** Of ten players one has a live grant, so that a tenth of the bets are on grants: each has as many bets. */
const ONE_IN = 10;
const ROUNDS = 5;
const POLL_MS = 20;

/**
 * The fold and the consumer of bets until both have handled all events: of a tenant that has bonuses and no live grant,
 * and of one a tenth of whose bets are on live grants, against a tenant without bonuses and no consumer beside it.
 */
export async function benchBonusFold(service: TestService): Promise<Result[]> {
  const owner = connectPool(postgresUrlOf(service.platform), { max: 1 });
  const idle = { ...service, ...(await service.newTenant()) };
  const wagering = { ...service, ...(await service.newTenant()) };
  try {
    // The players have to exist before they are granted anything.
    for (const one of [service, idle, wagering]) await foldEndToEnd(one, eventsOf('first'));
    await endedGrant(idle, owner);
    await liveGrants(wagering, owner);
    let round = 0;
    const plain = () => foldEndToEnd(service, eventsOf(`plain${round++}`));
    const beside = (one: TestService, label: string) => () => withBets(one, eventsOf(`${label}${round++}`));
    const without_grants = await alternate(ROUNDS, beside(idle, 'idle'), plain);
    const before = await countCounted(owner, wagering);
    const with_grants = await alternate(ROUNDS, beside(wagering, 'wagering'), beside(idle, 'idle'));
    const counted = (await countCounted(owner, wagering)) - before;
    check(counted);
    return [
      line('fold and bets, no live grant ÷ fold without bonuses', without_grants, 0.98),
      line('fold and bets, a tenth of the bets on live grants ÷ no live grant', with_grants, 0.75),
    ];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

type Pairs = { a: Sample; b: Sample }[];

function line(what: string, pairs: Pairs, at_least: number): Result {
  const rate = (side: 'a' | 'b') => median(pairs.map((pair) => perSecond(pair[side]))).toFixed(0);
  const note = `${rate('a')} against ${rate('b')} events/s until all are folded and counted; ${EVENTS} events of ${PLAYERS} players per run`;
  return result(what, ratios(pairs, perSecond), { at_least }, note);
}

/** Bets of now, because the grants are of now. */
function eventsOf(label: string): EventBody[] {
  const timestamp = new Date().toISOString();
  return mixedEvents(EVENTS, PLAYERS, label).map((event) => ({ ...event, timestamp }));
}

/** The fold with the consumer of bets beside it, until both are at the end of the log. */
async function withBets(service: TestService, events: readonly EventBody[]): Promise<Sample> {
  const { platform } = service;
  const consumer = await consumeBets(platform);
  try {
    const started_cpu = process.cpuUsage();
    const sample = await foldEndToEnd(service, events);
    const folded_ms = performance.now();
    while (await isBehind(service)) await sleep(POLL_MS);
    const { user, system } = process.cpuUsage(started_cpu);
    const wall_ms = sample.wall_ms + performance.now() - folded_ms;
    return { ...sample, wall_ms, cpu_ms: (user + system) / 1_000 };
  } finally {
    await consumer.close();
  }
}

async function isBehind({ platform }: TestService): Promise<boolean> {
  const lag = await platform.eventLog.lag(TOPICS.playerEvents, GROUPS.wagering);
  return lag.some(({ next_offset, end_offset }) => next_offset < end_offset);
}

/** A grant that has ended long ago: the tenant has bonuses, and none is live. */
async function endedGrant(caller: Caller, owner: Db): Promise<void> {
  const [player_id = ''] = await selectIdentified(owner, caller, ['player-0']);
  await grant(caller, await makeTemplate(caller), player_id);
  await endGrants(owner, caller);
}

/** A live grant of every tenth player, whose wagering no bet of the bench completes. */
async function liveGrants(caller: Caller, owner: Db): Promise<void> {
  const template_id = await makeTemplate(caller, {
    config: { amount: 100_000_000, currency: 'EUR' },
    wagering_requirement_multiplier: 50,
  });
  const names = Array.from({ length: PLAYERS / ONE_IN }, (_, i) => `player-${i * ONE_IN}`);
  for (const player_id of await selectIdentified(owner, caller, names)) {
    await grant(caller, template_id, player_id);
  }
}

async function grant(caller: Caller, template_id: string, player_id: string): Promise<void> {
  const body = { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null };
  await callApi(caller, 'POST', '/v1/bonus-grants', body);
}

/** Every bet of a player with a grant was counted, once, and no other. */
function check(counted: number): void {
  const of_run = eventsOf('check').filter(
    ({ event, anonymous_id }) =>
      event === 'bet_placed' && Number(anonymous_id?.slice('player-'.length)) % ONE_IN === 0,
  );
  const expected = (ROUNDS + 1) * of_run.length;
  if (counted !== expected) throw new Error(`${counted} of ${expected} bets were counted`);
}
