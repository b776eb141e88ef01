import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../src/platform/ids.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startBenchServer } from './child.ts';
import { awaits, end, month, startJourney, type Caller } from './journey-client.ts';
import { insertRuns, scheduleRuns, selectWaitingRuns } from './journey-seed-queries.ts';
import { now_ms, watchSteps } from './journey-watch.ts';
import { percentile, result, type Result } from './measure.ts';
import { EVENTS_PER_SECOND, post, sendSteadily } from './steady.ts';

const DUE_PER_SECOND = 1_000;
const SECONDS = 20;
/** For the preparation, before the first run is due. */
const AHEAD_MS = 10_000;
const PROBES = 150;
const PROBE_EVERY_MS = 100;
const WARM_UP_MS = 5_000;
/** What is not seen so long after the last one counts as if it took so long. */
const LONGEST_WAIT_MS = 30_000;

type Target = Caller & Record<string, string>;

/** How late timers are, and how long a run that waits takes to notice an accepted event, on a service with every role. */
export async function benchJourneyLatency(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 2 });
  const target = server.ready as Target;
  try {
    const lag = await timerLag(target, sql);
    const alone = await eventLatency(target, sql, 'alone');
    const stop = new AbortController();
    const background = sendSteadily(target, stop.signal);
    await sleep(WARM_UP_MS);
    const beside = await eventLatency(target, sql, 'beside');
    stop.abort();
    const { sent, elapsed_ms } = await background;
    const rate = ((sent / elapsed_ms) * 1_000).toFixed(0);
    return [
      ...lag,
      ...lines('accepted → run advanced', alone, [150, 500], `${PROBES} probes, nothing else`),
      ...lines(
        `accepted → run advanced at ${EVENTS_PER_SECOND} events/s`,
        beside,
        [150, 500],
        `${PROBES} probes beside ${rate} events/s`,
      ),
    ];
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

function lines(what: string, waits_ms: readonly number[], targets: [number, number], note: string): Result[] {
  const [p50, p99] = [percentile(waits_ms, 0.5), percentile(waits_ms, 0.99)];
  return [
    result(`${what}, p50 in ms`, [p50], { at_most: targets[0] }, note),
    result(`${what}, p99 in ms`, [p99], { at_most: targets[1] }, note),
  ];
}

async function timerLag(target: Target, sql: Db): Promise<Result[]> {
  const { tenant_id, project_id } = target;
  const journey_id = await startJourney(target, [month('a', 'b'), month('b', 'end'), end]);
  const players = Array.from({ length: DUE_PER_SECOND * SECONDS }, newId);
  const run_ids = await insertRuns(sql, { tenant_id, project_id, journey_id, node_id: 'a', seq: 1 }, players);
  const from_ms = Date.now() + AHEAD_MS;
  await scheduleRuns(sql, run_ids, new Date(from_ms), 1_000 / DUE_PER_SECOND);
  if (Date.now() >= from_ms) throw new Error('the preparation took longer than the time for it');
  const seen = await watchSteps(sql, project_id, run_ids, from_ms + SECONDS * 1_000 + LONGEST_WAIT_MS);
  const lags_ms = run_ids.map((run_id, i) => {
    const due_ms = from_ms + ((i + 1) * 1_000) / DUE_PER_SECOND;
    return (seen.get(run_id) ?? due_ms + LONGEST_WAIT_MS) - due_ms;
  });
  const note = `${run_ids.length} runs, until their steps are visible; all ${seen.size} have moved`;
  return lines(`timer lag at ${DUE_PER_SECOND} due/s`, lags_ms, [20, 250], note);
}

/** Runs that an event has started wait for another one, which comes for one after the other. */
async function eventLatency(target: Target, sql: Db, label: string): Promise<number[]> {
  const [started, awaited] = [`custom_started_${label}`, `custom_awaited_${label}`];
  const nodes = [awaits('a', awaited, 'b'), month('b', 'end'), end];
  const journey_id = await startJourney(target, nodes, { trigger: { kind: 'event', event: started } });
  for (let i = 0; i < PROBES; i++) await post(target, { event: started, anonymous_id: `${label}-${i}` });
  let runs: { run_id: string; anonymous_id: string }[] = [];
  for (const until_ms = now_ms() + LONGEST_WAIT_MS; runs.length < PROBES; await sleep(PROBE_EVERY_MS)) {
    runs = await selectWaitingRuns(sql, target, journey_id);
    if (now_ms() > until_ms) throw new Error(`only ${runs.length} of ${PROBES} runs wait`);
  }
  const accepted_ms = new Map<string, number>();
  const send = async () => {
    for (const { run_id, anonymous_id } of runs) {
      await post(target, { event: awaited, anonymous_id });
      accepted_ms.set(run_id, now_ms());
      await sleep(PROBE_EVERY_MS);
    }
  };
  const ids = runs.map(({ run_id }) => run_id);
  const until_ms = now_ms() + PROBES * PROBE_EVERY_MS + LONGEST_WAIT_MS;
  const [seen] = await Promise.all([watchSteps(sql, target.project_id, ids, until_ms), send()]);
  return ids.map((run_id) => {
    const from_ms = accepted_ms.get(run_id) ?? 0;
    return Math.max((seen.get(run_id) ?? from_ms + LONGEST_WAIT_MS) - from_ms, 0);
  });
}
