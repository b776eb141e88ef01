import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../src/platform/ids.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startBenchServer } from './child.ts';
import { callApi, end, makeSegment, month, startJourney, type Caller } from './journey-client.ts';
import { countEntered, insertRuns, scheduleRuns, selectEntry } from './journey-seed-queries.ts';
import { now_ms, watchSteps } from './journey-watch.ts';
import { percentile, result, type Result } from './measure.ts';
import { insertMembers } from './messaging-seed-queries.ts';

const MEMBERS = 100_000;
/** Runs of the other project come due so often. */
const DUE_EVERY_MS = 20;
const SECONDS = 90;
const AHEAD_MS = 10_000;
const POLL_MS = 50;

/** A hundred thousand players enter a journey at once, and what another project notices of it. */
export async function benchJourneyEntry(): Promise<Result[]> {
  const server = await startBenchServer('neighbours', { NEIGHBOURS_TENANTS: 'big,calm' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 4 });
  try {
    const tenants = JSON.parse(server.ready['tenants'] ?? '{}') as Record<'big' | 'calm', Caller>;
    const base_url = server.ready['base_url'] ?? '';
    const [big, calm] = [
      { ...tenants.big, base_url },
      { ...tenants.calm, base_url },
    ];
    const segment_id = await makeSegment(big);
    await insertMembers(sql, big, segment_id, MEMBERS);
    const { run_ids, from_ms } = await calmRuns(calm, sql);
    const stop_ms = from_ms + SECONDS * 1_000;
    const watched = watchSteps(sql, calm.project_id, run_ids, stop_ms + 5_000);
    await sleep(from_ms - Date.now() + 1_000);
    const { started_ms, entered_ms, queued_ms } = await enterAll(big, sql, segment_id);
    const seen = await watched;
    const lags_ms = run_ids
      .map((run_id, i) => ({ run_id, due_ms: from_ms + (i + 1) * DUE_EVERY_MS }))
      .filter(({ due_ms }) => due_ms >= started_ms && due_ms <= queued_ms)
      .map(({ run_id, due_ms }) => (seen.get(run_id) ?? stop_ms + 5_000) - due_ms);
    const note = `${lags_ms.length} runs due meanwhile, p50 ${percentile(lags_ms, 0.5).toFixed(0)} ms`;
    const [entered_s, queued_s] = [entered_ms, queued_ms].map((ms) => (ms - started_ms) / 1_000);
    return [
      result(`${MEMBERS} players have entered, s`, [entered_s ?? 0], { at_most: 10 }, 'from the activation'),
      result(
        `${MEMBERS} first messages are queued, s`,
        [queued_s ?? 0],
        { at_most: 30 },
        'from the activation',
      ),
      result("another project's timer lag, p99 in ms", [percentile(lags_ms, 0.99)], { at_most: 1_000 }, note),
    ];
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

async function calmRuns(calm: Caller, sql: Db): Promise<{ run_ids: string[]; from_ms: number }> {
  const { tenant_id, project_id } = calm;
  const journey_id = await startJourney(calm, [month('a', 'b'), month('b', 'end'), end]);
  const players = Array.from({ length: (SECONDS * 1_000) / DUE_EVERY_MS }, newId);
  const run_ids = await insertRuns(sql, { tenant_id, project_id, journey_id, node_id: 'a', seq: 1 }, players);
  const from_ms = Date.now() + AHEAD_MS;
  await scheduleRuns(sql, run_ids, new Date(from_ms), DUE_EVERY_MS);
  return { run_ids, from_ms };
}

/** Activates a journey for the members of the segment; resolves when all have entered and stand at their first wait. */
async function enterAll(big: Caller, sql: Db, segment_id: string) {
  const template = {
    name: 'bench',
    channel: 'email',
    status: 'active',
    subject: 'Hello',
    body: '<p>Dear</p>',
  };
  const provider = { name: 'bench', kind: 'sandbox', channel: 'email', config: {} };
  const { id: template_id } = await callApi<{ id: string }>(big, 'POST', '/v1/templates', template);
  const made = await callApi<{ id: string }>(big, 'POST', '/v1/messaging-providers', provider);
  const nodes = [
    { id: 's', type: 'send_message', template_id, provider_id: made.id, next: 'w' },
    month('w', 'end'),
    end,
  ];
  const started_ms = now_ms();
  const journey_id = await startJourney(big, nodes, {
    trigger: { kind: 'segment_entered', segment_id, existing_members: true },
  });
  let entered_ms: number | undefined;
  for (;;) {
    const { has_begun, has_ended, due } = await selectEntry(sql, big, journey_id);
    if (has_begun && has_ended) entered_ms ??= now_ms();
    if (entered_ms !== undefined && !due) break;
    if (now_ms() > started_ms + SECONDS * 1_000) throw new Error('the players have not entered in time');
    await sleep(POLL_MS);
  }
  const queued_ms = now_ms();
  const { runs, messages } = await countEntered(sql, journey_id);
  if (runs !== MEMBERS || messages !== MEMBERS) throw new Error(`${runs} runs and ${messages} messages`);
  return { started_ms, entered_ms, queued_ms };
}
