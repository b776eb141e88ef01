import { askInsight, playersPage } from '../src/analytics/insights/insight-queries.ts';
import type { InsightScope, Statement } from '../src/analytics/insights/kind.ts';
import { kindOf, queryBody, readCell } from '../src/analytics/insights/kinds.ts';
import { stepsOf } from '../src/analytics/insights/range.ts';
import { NO_FILTER } from '../src/analytics/insights/sql/filter.ts';
import { UTC_ZONE } from '../src/platform/time-zone.ts';
import type { TestService } from '../test/engines/service.ts';
import { EXPERT_SQL, runExpert, seedPlay } from './insight-seed-queries.ts';
import { alternate, median, percentile, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { mergeParts, seedMirroredPlayers } from './segment-seed-queries.ts';

/** A fifth of what the targets are for: BENCH_INSIGHT_PLAYERS=1000000 BENCH_INSIGHT_EVENTS=20000000 takes 15 minutes. */
const PLAYERS = Number(process.env['BENCH_INSIGHT_PLAYERS'] ?? 200_000);
const EVENTS = Number(process.env['BENCH_INSIGHT_EVENTS'] ?? 4_000_000);
const ROUNDS = 7;

interface Question {
  title: string;
  query: Record<string, unknown>;
  /** The players of this cell are asked for instead. */
  cell?: Record<string, unknown>;
  at_most_ms: number;
  expert?: { sql: keyof typeof EXPERT_SQL; at_most: number };
}

const last = (days: number) => ({ last: { days } });
const deposits = { event: 'deposit_confirmed' };
const retention = {
  kind: 'retention',
  range: last(84),
  interval: 'week',
  cohort: 'first_deposit',
  returns: 'deposit',
};
const QUESTIONS: readonly Question[] = [
  {
    title: 'trend, 90 days, 10 groups',
    query: {
      kind: 'trend',
      range: last(90),
      series: [{ ...deposits, aggregate: 'count' }],
      breakdown: { by: 'property', property: 'payment_method', top: 10 },
    },
    at_most_ms: 400,
    expert: { sql: 'trend', at_most: 1.2 },
  },
  {
    title: 'GGR by game, 30 days',
    query: {
      kind: 'trend',
      range: last(30),
      series: [{ metric: 'ggr' }],
      breakdown: { by: 'item', top: 25 },
    },
    at_most_ms: 500,
    expert: { sql: 'ggr_by_bet', at_most: 0.5 },
  },
  {
    title: 'funnel, 4 steps, 30 days',
    query: {
      kind: 'funnel',
      range: last(30),
      steps: [{ event: 'login' }, deposits, { event: 'bet_placed' }, { event: 'bet_settled' }],
      within: { days: 7 },
    },
    at_most_ms: 1_200,
    expert: { sql: 'funnel', at_most: 1.5 },
  },
  {
    title: 'retention, 12 × 12 weeks',
    query: retention,
    at_most_ms: 500,
    expert: { sql: 'retention', at_most: 1.25 },
  },
  { title: 'LTV, 12 × 12 weeks', query: { ...retention, value: 'ngr' }, at_most_ms: 700 },
  {
    title: 'lifecycle, 12 weeks',
    query: { kind: 'lifecycle', range: last(84), interval: 'week' },
    at_most_ms: 500,
  },
  {
    title: 'distribution of deposits, 30 days',
    query: { kind: 'distribution', range: last(30), value: 'deposits' },
    at_most_ms: 300,
    expert: { sql: 'distribution', at_most: 1.2 },
  },
  {
    title: 'players of a cell: the top hundredth by deposits',
    query: { kind: 'distribution', range: last(30), value: 'deposits' },
    cell: { first: 1, last: PLAYERS / 100 },
    at_most_ms: 400,
  },
];

const millis = ({ wall_ms, items }: Sample) => wall_ms / items;

/** Questions of insights in the engine, against what an expert would write: latencies, and their ratio. */
export async function benchInsights(service: TestService): Promise<Result[]> {
  const { tenant_id, project_id, platform } = service;
  const { clickhouse } = platform;
  const project = { tenant_id, project_id };
  await seedMirroredPlayers(clickhouse, project, PLAYERS);
  await seedPlay(clickhouse, project, PLAYERS, EVENTS);
  await mergeParts(clickhouse);
  const results: Result[] = [];
  for (const question of QUESTIONS) {
    const now_ms = Date.now();
    const ask = async () => {
      for (const statement of statementsOf(service, question, now_ms))
        await askInsight(clickhouse, { ...project, now_ms }, statement);
      return 1;
    };
    const { title, expert, at_most_ms } = question;
    const size = `${PLAYERS} players, ${EVENTS} events`;
    if (expert === undefined) {
      const samples: Sample[] = [];
      for (let round = 0; round <= ROUNDS; round++) samples.push(await timed(ask));
      results.push(latency(title, samples.slice(1), at_most_ms, size));
      continue;
    }
    const theirs = () =>
      timed(async () => {
        await runExpert(clickhouse, project, EXPERT_SQL[expert.sql]);
        return 1;
      });
    const pairs = await alternate(ROUNDS, () => timed(ask), theirs);
    results.push(
      latency(
        title,
        pairs.map(({ a }) => a),
        at_most_ms,
        size,
      ),
    );
    const of = (side: 'a' | 'b') => median(pairs.map((pair) => millis(pair[side]))).toFixed(0);
    const note = `${of('a')} against ${of('b')} ms`;
    results.push(result(`${title} ÷ expert`, ratios(pairs, millis), { at_most: expert.at_most }, note));
  }
  return results;
}

function latency(title: string, samples: readonly Sample[], at_most: number, size: string): Result {
  const all_ms = samples.map(millis);
  const note = `${size}; p50 ${median(all_ms).toFixed(0)} ms of ${all_ms.length}`;
  return result(`${title}, p95 in ms`, [percentile(all_ms, 0.95)], { at_most }, note);
}

function statementsOf(
  { tenant_id, project_id }: TestService,
  { query: written, cell }: Question,
  now_ms: number,
): readonly Statement[] {
  const query = queryBody.parse(written);
  const scope: InsightScope = {
    project: { tenant_id, project_id },
    now_ms,
    zone: UTC_ZONE,
    reporting: { zone: UTC_ZONE, bonus_cost: 'feed', deductions: [] },
    steps: stepsOf(query, now_ms, UTC_ZONE),
    compared: undefined,
    filter: NO_FILTER,
    are_first_deposits_known: false,
  };
  const kind = kindOf(query);
  if (cell === undefined) return kind.plan(query, scope).statements;
  return [playersPage(kind.players(query, scope, readCell(query, cell)), undefined, 100)];
}
