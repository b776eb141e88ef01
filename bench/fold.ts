import { startPlayerFold } from '../processors/player-fold/index.ts';
import type { EventBody } from '../src/ingest/events/validate.ts';
import { ThresholdCache } from '../src/ledger/tier-thresholds/threshold-cache.ts';
import { anonymousIdentityKey, parseRecord, type FoldEvent } from '../src/ledger/fold/fold-event.ts';
import { decide } from '../src/ledger/fold/decide.ts';
import { requestFor } from '../src/ledger/fold/snapshot.ts';
import { readPosition, readSnapshot } from '../src/ledger/fold/read-queries.ts';
import { prepareWrite } from '../src/ledger/fold/write-queries.ts';
import { newId } from '../src/platform/ids.ts';
import { TOPICS } from '../src/platform/event-log/topics.ts';
import type { LogRecord } from '../src/platform/event-log/port.ts';
import { folded, type TestService } from '../test/engines/service.ts';
import { acceptedRecords, chunks, feedEvents, mixedEvents, withRandomIds } from './events.ts';
import { alternate, median, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';

const EVENTS = 50_000;
const PLAYERS = 5_000;
const BATCH = 2_000;
const ROUNDS = 5;
const BARE_TOPIC = 'bench-bare';

/**
 * The fold end to end (read, parse, resolve, claim, ledger, totals, emit) against its bare Postgres
 * transactions: the same statements on the same kind of rows, with the decisions computed beforehand.
 */
export async function benchFold(service: TestService): Promise<Result[]> {
  let round = 0;
  for (const label of ['x', 'y']) await foldEndToEnd(service, mixedEvents(EVENTS, PLAYERS, label));
  const bytes = await bytesOfBet(service);
  const pairs = await alternate(
    ROUNDS,
    () => foldEndToEnd(service, withRandomIds(mixedEvents(EVENTS, PLAYERS, `a${round++}`))),
    () => bareTransactions(service, `b${round}`),
  );
  const feeds = await alternate(
    ROUNDS,
    () => foldEndToEnd(service, withRandomIds(feedEvents(EVENTS, PLAYERS, `c${round++}`))),
    () => foldEndToEnd(service, withRandomIds(mixedEvents(EVENTS, PLAYERS, `d${round}`))),
  );
  const orders = await alternate(
    ROUNDS,
    () => foldEndToEnd(service, withRandomIds(mixedEvents(EVENTS, PLAYERS, `e${round++}`))),
    () => foldEndToEnd(service, mixedEvents(EVENTS, PLAYERS, `f${round}`)),
  );
  const speeds = pairs.map(({ a }) => perSecond(a));
  const cpu_us = median(pairs.map(({ a }) => (a.cpu_ms * 1000) / a.items));
  const bare = median(pairs.map(({ b }) => perSecond(b)));
  return [
    result(
      'fold end to end ÷ bare Postgres transaction',
      ratios(pairs, perSecond),
      { at_least: 0.6 },
      `bare ${bare.toFixed(0)}/s; fold ${cpu_us.toFixed(1)} µs of CPU per event in this process`,
    ),
    result(
      'fold, events/s',
      speeds,
      { at_least: 25_000 },
      `${EVENTS} events of ${PLAYERS} players per run, with random ids`,
    ),
    bytes,
    result(
      'fold with 20 % movements and voids ÷ without',
      ratios(feeds, perSecond),
      { at_least: 0.85 },
      'the events of each are as many',
    ),
    result(
      'fold, time with random ids ÷ with ordered ids',
      orders.map(({ a, b }) => a.wall_ms / b.wall_ms),
      { at_most: 1.3 },
      'in the same ledger; `claims` has ten million rows',
    ),
  ];
}

/** Appends the events to the log and times a fold that processes them. */
export async function foldEndToEnd(service: TestService, events: readonly EventBody[]): Promise<Sample> {
  const { platform, tenant_id, project_id } = service;
  for (const part of chunks(events, 2_000)) {
    await platform.eventLog.append(TOPICS.events, acceptedRecords(part, tenant_id, project_id));
  }
  return timed(async () => {
    const thresholds = new ThresholdCache({ sql: platform.postgres.service, clock: platform.clock });
    const fold = await startPlayerFold(platform, thresholds);
    await folded(platform);
    await fold.close();
    return events.length;
  });
}

async function bareTransactions(service: TestService, label: string) {
  const { platform, tenant_id, project_id } = service;
  const { service: sql } = platform.postgres;
  const sent = withRandomIds(mixedEvents(EVENTS, PLAYERS, label));
  const records = acceptedRecords(sent, tenant_id, project_id);
  const start = (await readPosition(sql, BARE_TOPIC, 0)) ?? 0n;
  const events = records.map((record, i) => toEvent({ ...record, offset: start + BigInt(i) }));
  // One snapshot for all batches, updated after each: the next batch sees what it would have read from Postgres.
  const base_currencies = new Map([[tenant_id, 'EUR']]);
  const snapshot = await readSnapshot(sql, requestFor(events, base_currencies));
  let read: bigint | undefined = start === 0n ? undefined : start;
  const prepared = chunks(events, BATCH).map((part) => {
    const { effects } = decide(part, snapshot, { newId, partition: 1 });
    for (const player of effects.new_players)
      snapshot.players.set(anonymousIdentityKey(project_id, player.anonymous_id), player.player_id);
    const next = (part.at(-1)?.record.offset ?? 0n) + 1n;
    const position = { topic: BARE_TOPIC, partition: 0, read, next, emitted: read ?? 0n };
    read = position.next;
    return { effects, request: requestFor(part, base_currencies), position };
  });
  return timed(async () => {
    for (const { effects, request, position } of prepared) {
      await sql.begin(async (tx) => {
        await readSnapshot(tx, request);
        await prepareWrite(tx, effects, position, Date.now(), new Map())();
      });
    }
    return EVENTS;
  });
}

function toEvent(record: LogRecord): FoldEvent {
  const parsed = parseRecord(record);
  if (!('event' in parsed)) throw new Error(parsed.rejection.message);
  return parsed.event;
}

/** Bytes on disk of a bet that was placed and settled, which is two rows of the ledger, indexes included. */
async function bytesOfBet(service: TestService): Promise<Result> {
  const sql = service.platform.postgres.service;
  const [row] = await sql<{ bytes: number }[]>`
    select (2 * pg_total_relation_size('ledger') / greatest(1, (select count(*) from ledger)))::float8 as bytes`;
  const note = 'heap and indexes, with ids of 10 characters that are in order';
  return result('bytes on disk of a bet placed and settled', [row?.bytes ?? 0], { at_most: 430 }, note);
}
