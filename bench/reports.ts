import { randomUUID } from 'node:crypto';
import { waitUntilCaughtUp } from '../src/analytics/caught-up.ts';
import { selectCounts } from '../src/engage/campaigns/counts-queries.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startTestService, type TestService } from '../test/engines/service.ts';
import { messagingClient, type MessagingClient } from '../test/engage/messaging/messaging-client.ts';
import { alternate, percentile, ratios, result, timed, type Result } from './measure.ts';
import { insertMembers, insertSent } from './messaging-seed-queries.ts';
import { openBenchPlatform, postgresUrlOf } from './platform.ts';
import {
  drawMessages,
  insertGoals,
  recountByHand,
  reportClicks,
  setCounting,
} from './report-seed-queries.ts';

const PLAYERS = Number(process.env['BENCH_REPORTS_PLAYERS'] ?? 1_000_000);
const MIRRORED_MS = 1_800_000;
const ROUNDS = 20;
const EXACT_ROUNDS = 3;
const COUNT_ROUNDS = 5;
const BATCHES = 20;

/** Reports of a campaign to all players, whom one would reach, and what it costs to keep their counts. */
export async function benchReports(): Promise<Result[]> {
  const service = await startTestService({}, openBenchPlatform);
  const sql = connectPool(postgresUrlOf(service.platform), { max: 1 });
  try {
    const { draft_id, sent_id } = await seed(service, sql);
    return await measured(service, sql, draft_id, sent_id);
  } finally {
    await sql.end({ timeout: 5 });
    await service.close();
  }
}

async function seed(service: TestService, sql: Db): Promise<{ draft_id: string; sent_id: string }> {
  const client = messagingClient(service);
  const segment_id = await client.segment([]);
  await insertMembers(sql, service, segment_id, PLAYERS);
  await client.configure({
    frequency_caps: { email: { per_day: 3, per_week: 10 } },
    quiet_hours: { start: '00:00', end: '00:01', default_timezone: 'Europe/Malta' },
  });
  const provider_id = await client.provider();
  const template_id = await client.template();
  const goal = { goal_event: 'deposit_confirmed', goal_value_property: 'amount' };
  const body = { segment_id, template_id, provider_id, ...goal };
  const draft_id = await client.campaign({ ...body, name: 'Draft to all' });
  const sent_id = await client.campaign({ ...body, name: 'Sent to all' });
  await insertSent(sql, service, sent_id, [randomUUID(), randomUUID()]);
  await waitUntilCaughtUp(service.platform, MIRRORED_MS);
  await insertGoals(service, sent_id);
  return { draft_id, sent_id };
}

async function measured(service: TestService, sql: Db, draft_id: string, sent_id: string): Promise<Result[]> {
  const client = messagingClient(service);
  const { tenant_id, project_id } = service;
  const ref = { tenant_id, project_id, campaign_id: sent_id };
  const report = () =>
    Promise.all(
      ['', '/stats', '/failures', '/series', '/conversion-stats'].map((part) => read(client, sent_id + part)),
    );
  const audience = async (exact: boolean) => {
    const { status } = await client.api('POST', `/v1/campaigns/${draft_id}/audience`, { exact });
    if (status !== 200) throw new Error(`the audience was refused: ${status}`);
  };
  const first_ms = await took(report);
  const report_ms = await times(ROUNDS, report);
  const sample_ms = await times(ROUNDS, () => audience(false));
  const exact_ms = await times(EXACT_ROUNDS, () => audience(true));
  const funnel = await alternate(
    COUNT_ROUNDS,
    () =>
      timed(async () => {
        for (let i = 0; i < ROUNDS; i++) await selectCounts(sql, ref);
        return ROUNDS;
      }),
    () => timed(async () => (await recountByHand(sql, ref), 1)),
  );
  // Statements of a thousand messages each, as results and callbacks are written.
  const written = (is_counted: boolean) => async () => {
    await setCounting(sql, is_counted);
    const parts = await drawMessages(sql, service, sent_id, BATCHES);
    return timed(() => reportClicks(sql, service, parts));
  };
  const kept = await alternate(COUNT_ROUNDS, written(true), written(false));
  await setCounting(sql, true);
  const note = (all_ms: readonly number[]) =>
    `p50 ${percentile(all_ms, 0.5).toFixed(0)} ms of ${all_ms.length}`;
  return [
    result('report, p50 in ms', [percentile(report_ms, 0.5)], { at_most: 200 }, `of ${PLAYERS} messages`),
    result(
      'report, p95 in ms',
      [percentile(report_ms, 0.95)],
      { at_most: 500 },
      `the first ${first_ms.toFixed(0)} ms`,
    ),
    result(
      'audience from a sample, p95 in ms',
      [percentile(sample_ms, 0.95)],
      { at_most: 300 },
      note(sample_ms),
    ),
    result('audience, exact, p95 in ms', [percentile(exact_ms, 0.95)], { at_most: 8_000 }, note(exact_ms)),
    result(
      'funnel from counts ÷ recount',
      ratios(funnel, ({ wall_ms, items }) => wall_ms / items),
      { at_most: 0.1 },
      `${ROUNDS} readings against one recount: ${spans(funnel, 'ms')}`,
    ),
    result(
      'messages changed, counted ÷ not counted',
      ratios(kept, wall),
      { at_most: 1.1 },
      spans(kept, 'ms'),
    ),
  ];
}

const wall = ({ wall_ms }: { wall_ms: number }) => wall_ms;

function spans(pairs: readonly { a: { wall_ms: number }; b: { wall_ms: number } }[], unit: string): string {
  const of = (side: 'a' | 'b') =>
    percentile(
      pairs.map((pair) => pair[side].wall_ms),
      0.5,
    ).toFixed(1);
  return `medians ${of('a')} and ${of('b')} ${unit}`;
}

async function read(client: MessagingClient, path: string): Promise<void> {
  const { status } = await client.api('GET', `/v1/campaigns/${path}`);
  if (status !== 200) throw new Error(`${path} was refused: ${status}`);
}

async function times(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const all_ms: number[] = [];
  for (let i = 0; i < count; i++) all_ms.push(await took(work));
  return all_ms;
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const started_ms = performance.now();
  await work();
  return performance.now() - started_ms;
}
