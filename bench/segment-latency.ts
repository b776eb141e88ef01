import { setTimeout as sleep } from 'node:timers/promises';
import { connectPool } from '../src/platform/postgres/pool.ts';
import { startBenchServer } from './child.ts';
import { percentile, result, type Result } from './measure.ts';
import { PROBE, sendProbes } from './probes.ts';
import { selectMembersNamed } from './segment-seed-queries.ts';
import { sendSteadily, type Target } from './steady.ts';

const SECONDS = 20;
const PROBE_EVERY_MS = 100;
const WARM_UP_MS = 5_000;
export const SEGMENTS = 100;

/** The time from a 202 to a player's `segment_ids`, at 1,000 events per second and with 100 realtime segments. */
export async function benchSegmentLatency(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 1 });
  try {
    const probed = await makeSegments(server.ready);
    const stop = new AbortController();
    const background = sendSteadily(server.ready, stop.signal);
    await sleep(WARM_UP_MS);
    const { tenant_id = '', project_id = '' } = server.ready;
    const rhythm = { count: (SECONDS * 1_000) / PROBE_EVERY_MS, every_ms: PROBE_EVERY_MS };
    const waits_ms = await sendProbes(server.ready, rhythm, (names) =>
      selectMembersNamed(sql, { tenant_id, project_id }, probed, names),
    );
    stop.abort();
    const { sent, elapsed_ms } = await background;
    const rate = ((sent / elapsed_ms) * 1_000).toFixed(0);
    const note = `${waits_ms.length} probes beside ${rate} events/s, ${SEGMENTS} realtime segments`;
    const [p50, p99] = [percentile(waits_ms, 0.5), percentile(waits_ms, 0.99)];
    return [
      result('accepted → segment_ids shows it, p50 in ms', [p50], { at_most: 250 }, note),
      result('accepted → segment_ids shows it, p99 in ms', [p99], { at_most: 500 }, note),
    ];
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

/**
 * Creates realtime segments over events of the load, and one that only probes enter; returns the id of that one. Resolves
 * once a job has computed each of them.
 */
export async function makeSegments(target: Target): Promise<string> {
  const events = ['deposit_confirmed', 'bet_placed', 'bet_settled', 'session_start', 'withdrawal_confirmed'];
  for (let i = 1; i < SEGMENTS; i++) {
    const event = events[i % events.length];
    const window = { last: { days: 1 + (i % 30) } };
    await makeSegment(target, { type: 'event', event, aggregate: 'count', op: 'gte', value: i, window });
  }
  const probed = await makeSegment(target, {
    type: 'event',
    event: PROBE,
    aggregate: 'count',
    op: 'gte',
    value: 1,
  });
  while (!(await areComputed(target))) await sleep(PROBE_EVERY_MS);
  return probed;
}

/** Whether a job has computed every new segment once. */
async function areComputed(target: Target): Promise<boolean> {
  const response = await fetch(`${target['base_url']}/v1/segments?limit=${SEGMENTS}`, {
    headers: { Authorization: `Bearer ${target['session_token']}` },
  });
  const { data } = (await response.json()) as { data: { last_computed_at: string | null }[] };
  return data.every(({ last_computed_at }) => last_computed_at !== null);
}

async function makeSegment(target: Target, condition: Record<string, unknown>): Promise<string> {
  const response = await fetch(`${target['base_url']}/v1/segments`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${target['session_token']}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: 'bench',
      definition: { operator: 'AND', conditions: [condition] },
      refresh_strategy: 'realtime',
    }),
  });
  const { data } = (await response.json()) as { data: { id: string } };
  return data.id;
}
