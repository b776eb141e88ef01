import { setTimeout as sleep } from 'node:timers/promises';
import { startJourneyRunner } from '../processors/journey-runner/index.ts';
import { startWebhookDeliverer } from '../processors/webhook-deliverer/index.ts';
import { Matcher } from '../src/engage/journeys/runs/matcher.ts';
import { encodePlayerEvent } from '../src/ingest/events/envelope.ts';
import type { EventLog, LogRecord } from '../src/platform/event-log/port.ts';
import { TOPICS } from '../src/platform/event-log/topics.ts';
import { newId } from '../src/platform/ids.ts';
import { connectPool, openPostgres } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { startBenchServer } from './child.ts';
import { chunks } from './events.ts';
import { awaits, end, startJourney, type Caller } from './journey-client.ts';
import { prepareMoves, type Moves } from './journey-moves.ts';
import { countTransactions, isAnyDue, parkRuns, selectWaiting } from './journey-seed-queries.ts';
import { alternate, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { postgresUrlOf } from './platform.ts';

const MANY = Number(process.env['BENCH_PARKED_RUNS'] ?? 1_000_000);
const FEW = 10_000;
const MOVED = 10_000;
const ROUNDS = 4;
const EVENTS = 50_000;
const BATCH = 5_000;
const AWAITED = 'custom_awaited';
const WOKEN = 20_000;
const IDLE_MS = 15_000;
const erasure_key = Buffer.alloc(32);

/**
 * What a million runs that wait cost: events that runs wait for, a service without work, and runs that move, against
 * those of another service where few wait.
 */
export async function benchParked(service: TestService): Promise<Result[]> {
  const { platform } = service;
  const other = await startBenchServer('service');
  const few = other.ready as Record<string, string> & Caller;
  const few_url = other.ready['postgres_url'] ?? '';
  const owner = connectPool(postgresUrlOf(platform), { max: 1 });
  const few_owner = connectPool(few_url, { max: 1 });
  const few_postgres = openPostgres(few_url);
  try {
    const log_id = await platform.eventLog.idOf(TOPICS.playerEvents);
    await park(service, owner, MANY, log_id);
    await park(few, few_owner, FEW, log_id);
    return [
      ...(await matching(service, owner)),
      await idle(service, owner),
      await moving(
        await prepareMoves(service, { ...platform, erasure_key }, owner, MOVED),
        await prepareMoves(few, { ...platform, erasure_key, postgres: few_postgres }, few_owner, MOVED),
      ),
    ];
  } finally {
    await Promise.all([owner.end({ timeout: 5 }), few_owner.end({ timeout: 5 }), few_postgres.close()]);
    await other.stop();
  }
}

/** Runs that wait for an event of at least some amount. */
async function park(caller: Caller, owner: Db, count: number, log_id: string): Promise<void> {
  const { tenant_id, project_id } = caller;
  const where = { amount: { gte: 1_000 } };
  const journey_id = await startJourney(caller, [awaits('a', AWAITED, 'end', where), end]);
  const standing = { tenant_id, project_id, journey_id, node_id: 'a', seq: 1 };
  await parkRuns(owner, standing, count, { event: AWAITED, log_id });
}

async function moving(many: Moves, few: Moves): Promise<Result> {
  const pairs = await alternate(
    ROUNDS,
    () => many.ours(),
    () => few.ours(),
  );
  const rates = pairs.map(({ a }) => perSecond(a).toFixed(0)).join(', ');
  const costs = ratios(pairs, perSecond).map((ratio) => 1 / ratio);
  const note = `${MOVED} runs wait → send → wait; ${rates} runs/s beside ${MANY}`;
  return result(
    `cost of moving beside ${MANY} parked runs ÷ ${FEW}`,
    costs,
    { at_most: 1.15 },
    `${note}, ${hot(many)} and ${hot(few)} of the updates touch no index`,
  );
}

const hot = (moves: Moves) => `${moves.hot_percent().toFixed(0)} %`;

async function matching(service: TestService, owner: Db): Promise<Result[]> {
  const players = await selectWaiting(owner, service, AWAITED, EVENTS);
  const matcher = new Matcher(service.platform);
  const times: Record<'refused' | 'looked_up' | 'unwatched', number[]> = {
    refused: [],
    looked_up: [],
    unwatched: [],
  };
  for (let round = 0; round <= ROUNDS; round++) {
    // All events are of players with a run that waits; their amount is below what it waits for.
    const refused = await match(matcher, recordsOf(service, players, AWAITED, 5));
    const strangers = players.map(() => newId());
    const looked_up = await match(matcher, recordsOf(service, strangers, AWAITED, 5_000));
    const others = await match(matcher, recordsOf(service, players, 'custom_other', 5));
    if (round === 0) continue;
    times.refused.push(microseconds(refused));
    times.looked_up.push(microseconds(looked_up));
    times.unwatched.push(microseconds(others));
  }
  const woken = await match(matcher, recordsOf(service, players.slice(0, WOKEN), AWAITED, 5_000));
  const note = `in batches of ${BATCH}, each of a player whose run waits for it`;
  return [
    result(`watched event beside ${MANY} runs that wait, µs`, times.refused, { at_most: 20 }, note),
    result(
      'watched event that the filter lets pass, of a player without a run, µs',
      times.looked_up,
      { at_most: 20 },
      `in batches of ${BATCH}`,
    ),
    result('unwatched event, µs', times.unwatched, { at_most: 1 }, `in batches of ${BATCH}`),
    result('event that wakes its run, µs', [microseconds(woken)], { at_most: 200 }, `${WOKEN} runs`),
  ];
}

const microseconds = (sample: Sample) => 1e6 / perSecond(sample);

function recordsOf(
  { tenant_id, project_id }: TestService,
  players: readonly string[],
  event: string,
  amount: number,
): LogRecord[] {
  const now_ms = Date.now();
  return players.map((player_id, i) => {
    const of_player = { tenant_id, project_id, event, player_id, occurred_at: now_ms, received_at: now_ms };
    const rest = { ingestion_id: newId(), event_index: 0, base_amount: null, base_payout: null };
    const value = encodePlayerEvent({ ...of_player, ...rest, properties: { amount, currency: 'EUR' } });
    // One text without parts, as the log gives it.
    return { offset: BigInt(i), key: player_id, value: Buffer.from(value).toString() };
  });
}

function match(matcher: Matcher, records: readonly LogRecord[]): Promise<Sample> {
  return timed(async () => {
    for (const part of chunks(records, BATCH)) await matcher.handle({ partition: 0, records: part });
    return records.length;
  });
}

/** Queries of the processors of journeys while nothing is due, without those that read the log. */
async function idle(service: TestService, owner: Db): Promise<Result> {
  const { platform } = service;
  const { notifications } = service.service;
  const keys = { current: '00'.repeat(32), previous: undefined };
  const rateOf = async () => {
    const before = await countTransactions(owner);
    await sleep(IDLE_MS);
    return ((await countTransactions(owner)) - before) / (IDLE_MS / 1_000);
  };
  const without = await rateOf();
  const runner = await startJourneyRunner(
    { ...platform, erasure_key, eventLog: withoutConsumers(platform.eventLog) },
    notifications,
  );
  const deliverer = await startWebhookDeliverer(platform, notifications, keys);
  try {
    // The runs that were woken go on first.
    while (await isAnyDue(owner)) await sleep(100);
    const rate = (await rateOf()) - without;
    const note = `beside ${MANY} runs that wait; the runner's and the deliverer's`;
    return result('queries per second without work', [rate], { at_most: 5 }, note);
  } finally {
    await runner.close();
    await deliverer.close();
  }
}

/** The log, of which nothing is read: what that costs is the log's, and no query where the log is Kafka. */
function withoutConsumers(log: EventLog): EventLog {
  const consume = () => Promise.resolve({ close: () => Promise.resolve() });
  return {
    ensureTopics: (topics) => log.ensureTopics(topics),
    append: (topic, records) => log.append(topic, records),
    consume,
    describe: (topic) => log.describe(topic),
    idOf: (topic) => log.idOf(topic),
    partitionOf: (key, partitions) => log.partitionOf(key, partitions),
    endOffsets: (topic) => log.endOffsets(topic),
    lag: (topic, group) => log.lag(topic, group),
    read: (...args) => log.read(...args),
    ping: () => log.ping(),
    close: () => log.close(),
  };
}
