import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  encodeAccepted,
  encodePlayerEvent,
  playerKey,
  type PlayerEvent,
} from '../../../src/ingest/events/envelope.ts';
import type { Emission } from '../../../src/ledger/fold/snapshot.ts';
import { ThresholdCache } from '../../../src/ledger/tier-thresholds/threshold-cache.ts';
import { foldBatch, type FoldContext } from '../../../src/ledger/fold/fold-batch.ts';
import type { MoneyEvent } from '../../../src/ledger/money/ledger.ts';
import { SUMS } from '../../../src/ledger/money/totals.ts';
import type { LogBatch, LogRecord } from '../../../src/platform/event-log/port.ts';
import { TOPICS } from '../../../src/platform/event-log/topics.ts';
import { newId } from '../../../src/platform/ids.ts';
import { folded, startTestService, type TestService } from '../../engines/service.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { runs } from '../../engines/effort.ts';
import { Dice, KINDS, NAMES, REFERENCES, toSent } from './few-ids.ts';
import { eventOf } from './model-run.ts';
import { Operator, type Sent } from './operator.ts';
import { complaintsOf, type Outcome, type OutcomePlayer, type Sums } from './outcome.ts';

const RUNS = runs(40, { nightly: 400, nightly_on_servers: 100 });
const DEVICES = 5;
const PERSONS = 2;
const LANES_OF_FOLDS = 3;
/** Claims know their partition but not their topic, so these partitions must differ from those of the service's log. */
const FIRST_PARTITION = 100;
const LANES_OF_CALLS = 3;
/** Number of concurrent operators: a run consists mostly of waiting. */
const AT_ONCE = 4;
const CHECKED_IN_CLICKHOUSE_EVERY = 10;

let service: TestService;
/** How often each situation occurred in all runs: without contention the test would prove nothing. */
const met = { merges: 0, conflicts: 0, overtaken: 0, replays: 0, rivals: 0 };
beforeAll(async () => {
  // A call that is refused as not available says why.
  service = await startTestService({ log_level: 'warn' });
});
afterAll(() => service.close());

/** One run: an operator of its own, the events sent and the answers received. */
interface Run {
  operator: Operator;
  dice: Dice;
  sent: Map<string, SentEvent>;
  answers: Outcome['answers'][number][];
}

it(
  'concurrent merges and folds keep every sum, and assign every event to the right player',
  { timeout: 300_000 + RUNS * 3_000 },
  async () => {
    const seeds = fc.noShrink(fc.array(fc.nat(), { minLength: AT_ONCE, maxLength: AT_ONCE }));
    let checks = 0;
    // One operator first: connections are opened and code is compiled while few wait for the same rows.
    await letThemMeet(0);
    await fc.assert(
      fc.asyncProperty(seeds, async (drawn) => {
        const operators = await Promise.all(drawn.map(letThemMeet));
        if (++checks % CHECKED_IN_CLICKHOUSE_EVERY === 0) {
          for (const operator of operators) expect(await operator.differences()).toEqual([]);
        }
      }),
      { numRuns: Math.ceil(RUNS / AT_ONCE), endOnFailure: true },
    );
    // All operators, before and after ClickHouse is rewritten.
    const anybody = await Operator.open(service);
    expect(await anybody.differencesOfAll()).toEqual([]);
    await anybody.rewriteAll();
    expect(await anybody.differencesOfAll()).toEqual([]);
    for (const [what, times] of Object.entries(met))
      expect(times, what).toBeGreaterThanOrEqual(Math.max(2, RUNS / 10 - 5));
  },
);

/** One run: the events and calls of an operator run concurrently, and its outcome is checked. */
async function letThemMeet(seed: number): Promise<Operator> {
  const operator = await Operator.open(service);
  const run: Run = { operator, dice: new Dice(seed), sent: new Map(), answers: [] };
  const from = await service.platform.eventLog.endOffsets(TOPICS.playerEvents);
  await Promise.all([
    ...Array.from({ length: LANES_OF_FOLDS }, (_, i) => foldLane(run, FIRST_PARTITION + i)),
    ...Array.from({ length: LANES_OF_CALLS }, () => callLane(run)),
    intakeLane(run),
  ]);
  await folded(service.platform);
  const outcome = await outcomeOf(run, from);
  expect(complaintsOf(outcome)).toEqual([]);
  expect(await shown(operator)).toEqual([...outcome.players.keys()].sort());
  return operator;
}

/** Folds a partition of a topic of its own directly, with crashes before the emission and with rival folds. */
async function foldLane(run: Run, partition: number): Promise<void> {
  const { dice, operator } = run;
  const topic = `interleaved-${operator.tenant.project_id}`;
  let fold = newFold();
  for (let first = 0n, batches = 2 + dice.roll(3); batches > 0; batches--) {
    await aMoment(dice);
    const batch = batchOf(run, topic, partition, first, 1 + dice.roll(5));
    first += BigInt(batch.records.length);
    const fate = dice.roll(8);
    if (fate === 0) {
      // The fold crashes between transaction and emission, and the next one gets the batch again.
      await foldBatch(fold, batch);
      fold = newFold();
      met.replays++;
    } else if (fate === 1) {
      // Two folds both consider themselves owner of the partition.
      const rival = newFold();
      met.rivals++;
      const [told] = await Promise.all([foldBatch(rival, batch), foldBatch(fold, batch).then(emit)]);
      await emit(told);
      fold = rival;
      continue;
    }
    await emit(await foldBatch(fold, batch));
  }
}

function newFold(): FoldContext {
  const { platform } = service;
  const noticed = Object.create(platform.logger, {
    debug: { value: () => void met.overtaken++ },
  }) as FoldContext['logger'];
  return {
    sql: platform.postgres.service,
    clock: platform.clock,
    logger: noticed,
    metrics: platform.metrics,
    newId,
    positions: new Map(),
    base_currencies: new Map(),
    thresholds: new ThresholdCache({ sql: platform.postgres.service, clock: platform.clock }),
  };
}

/** Appends the emission to the log, as player-fold does. */
async function emit({ events, rejections }: Emission): Promise<void> {
  // Duplicates with another time have letters, and change nothing.
  for (const { reason, message } of rejections)
    expect(['CONFLICTING_DUPLICATE', 'DUPLICATE_DIFFERS'], message).toContain(reason);
  const records = events.map((event) => ({
    key: playerKey(event.project_id, event.player_id),
    value: encodePlayerEvent(event),
  }));
  await service.platform.eventLog.append(TOPICS.playerEvents, records);
}

function batchOf(run: Run, topic: string, partition: number, first: bigint, length: number): LogBatch {
  const { tenant_id, project_id } = run.operator.tenant;
  const records = Array.from({ length }, (_, i): LogRecord => {
    const ingestion_id = newId();
    const received_at_ms = service.platform.clock.now_ms();
    const stamp = { ingestion_id, tenant_id, project_id, environment: 'dev', received_at_ms };
    const event = drawEvent(run);
    run.sent.set(`${ingestion_id} 0`, event);
    return { offset: first + BigInt(i), key: 'any', value: encodeAccepted(stamp, 0, JSON.stringify(event)) };
  });
  return { topic, partition, from: first, records };
}

/** Sends events over HTTP, which the service's own fold handles. */
async function intakeLane(run: Run): Promise<void> {
  for (let requests = 2 + run.dice.roll(2); requests > 0; requests--) {
    await aMoment(run.dice);
    const events = Array.from({ length: 1 + run.dice.roll(4) }, () => drawEvent(run));
    const ingestion_id = await run.operator.send(...(events as Sent[]));
    for (const [i, event] of events.entries()) run.sent.set(`${ingestion_id} ${i}`, event);
  }
}

async function callLane(run: Run): Promise<void> {
  const { dice, operator, answers } = run;
  for (let calls = 3 + dice.roll(2); calls > 0; calls--) {
    await aMoment(dice);
    const shape = dice.pick(['a', 'ae', 'ae', 'ap', 'ap', 'ap', 'ep', 'aep']);
    const known = knownPlayer(run);
    const ids = {
      ...(shape.includes('a') ? { anonymous_id: `device-${dice.roll(DEVICES)}` } : {}),
      ...(shape.includes('e') ? { external_id: `person-${dice.roll(PERSONS)}` } : {}),
      ...(shape.includes('p') && known !== undefined ? { player_id: known } : {}),
    };
    if (Object.keys(ids).length === 0) continue;
    const answer = await operator.identify(ids);
    met.merges += answer.merged_player_ids.length;
    if (answer.conflict) met.conflicts++;
    answers.push({ anonymous_id: ids.anonymous_id, player_id: answer.player_id, conflict: answer.conflict });
  }
}

function knownPlayer({ dice, answers }: Run): string | undefined {
  return answers.length === 0 ? undefined : dice.pick(answers).player_id;
}

function drawEvent(run: Run): SentEvent {
  const { dice } = run;
  const known = dice.roll(2) === 0 ? knownPlayer(run) : undefined;
  const ids = known === undefined ? { anonymous_id: `device-${dice.roll(DEVICES)}` } : { player_id: known };
  const what = {
    kind: dice.pick(KINDS),
    name: dice.roll(NAMES),
    reference: dice.roll(REFERENCES),
    moment: dice.roll(3),
  };
  return { ...toSent(what), ...ids };
}

/** A random pause, so that the interleaving varies. */
async function aMoment(dice: Dice): Promise<void> {
  await sleep(dice.roll(12));
}

/** The final state in Postgres and on the log. */
async function outcomeOf(
  { operator, sent, answers }: Run,
  from: ReadonlyMap<number, bigint>,
): Promise<Outcome> {
  const sql = service.platform.postgres.service;
  const { tenant_id } = operator.tenant;
  const players = await sql<(OutcomePlayer & { player_id: string })[]>`
    select player_id, external_id, anonymous_ids, self_excluded, deleted_at is not null as deleted
    from players where tenant_id = ${tenant_id}`;
  const totals = await sql<(Sums & { player_id: string })[]>`
    select player_id, ${sql(SUMS)} from player_totals where tenant_id = ${tenant_id}`;
  const identities = await sql<{ anonymous_id: string; player_id: string }[]>`
    select anonymous_id, player_id from player_identities where tenant_id = ${tenant_id}`;
  const merges = await sql<{ player_id: string; into_player_id: string }[]>`
    select player_id, into_player_id from player_merges where tenant_id = ${tenant_id}`;
  const ledger = await sql<LedgerValues[]>`
    select player_id, ingestion_id, event_index, event, reference, epoch_ms(occurred_at) as at_ms, currency,
      movement_id, reason, amount::text, payout::text, bonus_stake::text, bonus_payout::text
    from ledger join projects using (project_no) where tenant_id = ${tenant_id}`;
  return {
    players: new Map(players.map((player) => [player.player_id, player])),
    totals: new Map(totals.map((one) => [one.player_id, one])),
    identities: new Map(identities.map((one) => [one.anonymous_id, one.player_id])),
    merges: new Map(merges.map((one) => [one.player_id, one.into_player_id])),
    ledger: new Map(ledger.map((row) => [`${row.ingestion_id} ${row.event_index}`, toEvent(row)])),
    emitted: await emittedSince(from, tenant_id),
    sent,
    answers,
  };
}

interface LedgerValues {
  player_id: string;
  ingestion_id: string;
  event_index: number;
  event: MoneyEvent;
  reference: string;
  at_ms: bigint;
  currency: string | null;
  movement_id: string | null;
  reason: string | null;
  amount: string | null;
  payout: string | null;
  bonus_stake: string | null;
  bonus_payout: string | null;
}

function toEvent({ player_id, at_ms, amount, payout, bonus_stake, bonus_payout, ...row }: LedgerValues) {
  const money = (text: string | null) => (text === null ? null : BigInt(text));
  const event = eventOf({
    ...row,
    occurred_at_ms: Number(at_ms),
    amount: money(amount),
    payout: money(payout),
    bonus_stake: money(bonus_stake),
    bonus_payout: money(bonus_payout),
  });
  return { player_id, event };
}

/** Each event emitted for the tenant, once. */
async function emittedSince(
  from: ReadonlyMap<number, bigint>,
  tenant_id: string,
): Promise<Outcome['emitted']> {
  const { eventLog } = service.platform;
  const emitted = new Map<string, PlayerEvent>();
  for (const [partition, end] of await eventLog.endOffsets(TOPICS.playerEvents)) {
    for await (const { records } of eventLog.read(
      TOPICS.playerEvents,
      partition,
      from.get(partition) ?? 0n,
      end,
    )) {
      for (const { value } of records) {
        const event = JSON.parse(value) as PlayerEvent;
        if (event.tenant_id === tenant_id) emitted.set(`${event.ingestion_id} ${event.event_index}`, event);
      }
    }
  }
  return emitted;
}

/** The ids of the players in the list endpoint. */
async function shown(operator: Operator): Promise<string[]> {
  return (await operator.list()).map(({ id }) => String(id));
}
