import { setTimeout as sleep } from 'node:timers/promises';
import { connectPool } from '../src/platform/postgres/pool.ts';
import { textArray } from '../src/platform/postgres/arrays.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startBenchServer, type BenchServer } from './child.ts';
import { chunks, mixedEvents } from './events.ts';
import { median, percentile, result, type Result } from './measure.ts';
import { sendProbes } from './probes.ts';
import { makeSegments, SEGMENTS } from './segment-latency.ts';
import { selectMembersNamed } from './segment-seed-queries.ts';
import { formatStages, sampleStatements, threadTimes } from './stages.ts';
import { post, type Target } from './steady.ts';

const PLAYERS = 20_000;
const BATCH = 100;
const SENDERS = 4;
const ROUNDS = 5;
const ROUND_MS = 10_000;
const WARM_UP_MS = 15_000;
const PROBE_EVERY_MS = 100;
const POLL_MS = 20;
/** Senders wait while more events are accepted and not folded, or while players wait longer for their segments. */
const MAX_BEHIND = 5_000;
const MAX_DIRTY_MS = 600;

/**
 * The whole service, every role, by HTTP in batches of 100: the rate that it sustains while everything follows within a
 * second, the time from a 202 to what shows it, and where the time of an event goes.
 */
export async function benchWhole(): Promise<Result[]> {
  return [...(await sustained(0)), ...(await sustained(SEGMENTS))];
}

async function sustained(segments: number): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 3 });
  const stop = new AbortController();
  try {
    const probed = segments === 0 ? undefined : await makeSegments(server.ready);
    const state = { sent: 0, folded: 0, dirty_ms: 0, per_second: Number.POSITIVE_INFINITY };
    const work = [watch(sql, state, stop.signal), ...senders(server.ready, state, stop.signal)];
    await sleep(WARM_UP_MS);
    const [rates, waits_ms] = await Promise.all([
      rounds(state),
      probes(server.ready, sql, probed, 'sustained'),
    ]);
    await writeStages(server, sql, state);
    state.per_second = median(rates) / 2;
    await sleep(WARM_UP_MS / 3);
    const half_ms = await probes(server.ready, sql, probed, 'half');
    stop.abort();
    await Promise.all(work);
    const of = segments === 0 ? 'no realtime segments' : `${segments} realtime segments`;
    const what = segments === 0 ? 'visible' : 'segment_ids';
    const p99 = percentile(waits_ms, 0.99);
    const note = `accepted → ${what}: p50 ${median(waits_ms).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
    const half = `at ${state.per_second.toFixed(0)} events/s, ${of}`;
    const [middle, most] = segments === 0 ? [50, 250] : [250, 500];
    return [
      result(`events/s sustained, ${of}`, rates, { at_least: segments === 0 ? 10_000 : 3_000 }, note),
      result(`accepted → ${what} meanwhile, p99 in ms`, [p99], { at_most: 1_000 }, of),
      result(`accepted → ${what} at half the rate, p50 in ms`, [median(half_ms)], { at_most: middle }, half),
      result(`the same, p99 in ms`, [percentile(half_ms, 0.99)], { at_most: most }, half),
    ];
  } finally {
    stop.abort();
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

/** How far the service is; `per_second` bounds the load. */
interface State {
  sent: number;
  folded: number;
  dirty_ms: number;
  per_second: number;
}

async function watch(sql: Db, state: State, stop: AbortSignal): Promise<void> {
  const first = await foldedRecords(sql);
  while (!stop.aborted) {
    state.folded = (await foldedRecords(sql)) - first;
    const [row] = await sql<{ dirty_ms: number }[]>`
      select coalesce(extract(epoch from now() - min(marked_at)) * 1000, 0)::float8 as dirty_ms from dirty_players`;
    state.dirty_ms = row?.dirty_ms ?? 0;
    await sleep(POLL_MS);
  }
}

/** How many records of the topic `events` the fold has passed. */
export async function foldedRecords(sql: Db): Promise<number> {
  const [row] = await sql<{ next: string }[]>`
    select coalesce(sum(next_offset), 0)::text as next from fold_positions where topic = 'events'`;
  return Number(row?.next ?? 0);
}

function senders(target: Target, state: State, stop: AbortSignal): Promise<void>[] {
  let turn = { since_ms: performance.now(), sent: 0, per_second: state.per_second };
  const mayGoOn = () => {
    if (turn.per_second !== state.per_second) {
      turn = { since_ms: performance.now(), sent: state.sent, per_second: state.per_second };
    }
    const due = ((performance.now() - turn.since_ms) * turn.per_second) / 1_000;
    return (
      state.sent - turn.sent <= due && state.sent - state.folded < MAX_BEHIND && state.dirty_ms < MAX_DIRTY_MS
    );
  };
  return Array.from({ length: SENDERS }, async (_, sender) => {
    for (let round = 0; !stop.aborted; round++) {
      const label = `whole-${sender}-${round}`;
      for (const events of chunks(mixedEvents(PLAYERS, PLAYERS, label), BATCH)) {
        while (!stop.aborted && !mayGoOn()) await sleep(5);
        if (stop.aborted) return;
        state.sent += BATCH;
        await post(target, { events: withPresentTime(events) }, '/v1/events/batch');
      }
    }
  });
}

function withPresentTime(events: readonly object[]): object[] {
  const timestamp = new Date().toISOString();
  return events.map((event) => ({ ...event, timestamp }));
}

/** Events folded per second, round by round. */
async function rounds(state: State): Promise<number[]> {
  const rates: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const [from, since_ms] = [state.folded, performance.now()];
    await sleep(ROUND_MS);
    rates.push(((state.folded - from) / (performance.now() - since_ms)) * 1_000);
  }
  return rates;
}

/** Probes during the rounds: until totals exist, or until the player is a member of the probed segment. */
function probes(target: Target, sql: Db, probed: string | undefined, label: string): Promise<number[]> {
  const { tenant_id = '', project_id = '' } = target;
  const project = { tenant_id, project_id };
  const rhythm = { count: (ROUNDS * ROUND_MS) / PROBE_EVERY_MS, every_ms: PROBE_EVERY_MS, label };
  return sendProbes(target, rhythm, async (names) => {
    if (probed !== undefined) return selectMembersNamed(sql, project, probed, names);
    const rows = await sql<{ anonymous_id: string }[]>`
      select n.anonymous_id from unnest(${textArray(names)}::text::text[]) as n (anonymous_id)
      cross join lateral (
        select i.player_id from player_identities i
        where i.tenant_id = ${tenant_id} and i.project_id = ${project_id} and i.anonymous_id = n.anonymous_id offset 0) i
      cross join lateral (
        select from player_totals t
        where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.player_id = i.player_id offset 0) t`;
    return rows.map(({ anonymous_id }) => anonymous_id);
  });
}

/** Writes the table of microseconds per event and stage of one more round. */
async function writeStages(server: BenchServer, sql: Db, state: State): Promise<void> {
  const before = await threadTimes(server.pid);
  const from = state.folded;
  const stop = new AbortController();
  await server.startProfile();
  const sampling = sampleStatements(sql, stop.signal);
  await sleep(ROUND_MS);
  stop.abort();
  const [node, postgres] = [await server.stopProfile(), await sampling];
  const after = await threadTimes(server.pid);
  const clickhouse_ms = [...after]
    .filter(([name]) => name !== 'main' && name !== 'node')
    .reduce((sum, [name, ms]) => sum + ms - (before.get(name) ?? 0), 0);
  process.stdout.write(`${formatStages(node, postgres, clickhouse_ms, state.folded - from)}\n`);
}
