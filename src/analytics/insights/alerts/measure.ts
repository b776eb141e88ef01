import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { nextLocal, startOfLocal } from '../../../platform/local-intervals.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { readAsked, type Asked } from '../ask.ts';
import type { Column, InsightScope, Plan, Steps } from '../kind.ts';
import { kindOf } from '../kinds.ts';
import { MAX_POINTS } from '../limits.ts';
import type { InsightRunner } from '../runner.ts';
import { comparedStarts, decide, measuredOf, type Decision, type Measured } from './rules.ts';
import type { AlertContent, AlertQuery } from './schema.ts';

type Step = AlertContent['interval'];

/** What an alert measures, within the project and its settings of now. */
export interface Measure {
  asked: Asked;
  step: Step;
  /** The column of the figures with the value. */
  column: Column;
}

/**
 * What a query of an alert measures. Rejects as {@link readAsked}, and with VALIDATION_ERROR for a query that cannot be
 * computed.
 */
export async function readMeasure(
  deps: Pick<Platform, 'postgres' | 'clock'>,
  project: ProjectRef,
  query: AlertQuery,
  step: Step,
): Promise<Measure> {
  const asked = await readAsked(deps, project, { ...query, interval: step, range: { last: { days: 1 } } });
  const { columns } = planOf(asked, asked.scope.steps).read([]);
  // The ratio comes last, after the series of which it is made.
  const column = columns.at(-1);
  if (column === undefined) throw new Error('a trend has no columns');
  return { asked, step, column };
}

function planOf({ query, scope }: Asked, steps: Steps): Plan {
  return kindOf(query).plan(query, { ...scope, steps });
}

/** An interval with its decision. */
export interface Decided {
  from_ms: number;
  to_ms: number;
  value: Measured;
  decision: Decision;
}

/** Measures and decides the intervals that begin at these times, all of which are over. Rejects as `InsightRunner.run`. */
export async function decideIntervals(
  { runner, clickhouse }: { runner: InsightRunner; clickhouse: ClickHouseQueries },
  measure: Measure,
  condition: AlertContent['condition'],
  starts_ms: readonly number[],
): Promise<Decided[]> {
  const { asked, step } = measure;
  const { zone, project } = asked.scope;
  const compared = starts_ms.map((at_ms) => comparedStarts(condition, step, at_ms, zone));
  const plans = rangesOf([...starts_ms, ...compared.flat()], step, zone).map((steps) => ({
    steps,
    plan: planOf(asked, steps),
  }));
  const statements = plans.flatMap(({ plan }) => plan.statements);
  const answers = await runner.run(clickhouse, project, statements);
  const values = new Map<number, Measured>();
  let used = 0;
  for (const { steps, plan } of plans) {
    const figures = plan.read(answers.slice(used, used + plan.statements.length));
    used += plan.statements.length;
    for (const [i, at_ms] of steps.starts_ms.entries())
      values.set(at_ms, measuredOf(figures.rows[i]?.at(-1) ?? null));
  }
  const valueAt = (at_ms: number) => values.get(at_ms) ?? measuredOf(null);
  return starts_ms.map((from_ms, i) => {
    const value = valueAt(from_ms);
    const decision = decide(condition, value, (compared[i] ?? []).map(valueAt));
    return { from_ms, to_ms: nextLocal(zone, step, from_ms), value, decision };
  });
}

/** The ranges of intervals without gaps that these intervals make, none longer than a query may be. */
function rangesOf(starts_ms: readonly number[], step: Step, zone: InsightScope['zone']): Steps[] {
  const ranges: { from_ms: number; to_ms: number; starts_ms: number[]; interval: Step }[] = [];
  for (const at_ms of [...new Set(starts_ms)].toSorted((one, other) => one - other)) {
    const to_ms = nextLocal(zone, step, at_ms);
    const last = ranges.at(-1);
    if (last !== undefined && last.to_ms === at_ms && last.starts_ms.length < MAX_POINTS) {
      last.starts_ms.push(at_ms);
      last.to_ms = to_ms;
    } else ranges.push({ from_ms: at_ms, to_ms, starts_ms: [at_ms], interval: step });
  }
  return ranges;
}

/** When the first whole interval begins at a time or after it. */
export function wholeFrom(zone: InsightScope['zone'], step: Step, from_ms: number): number {
  const at_ms = startOfLocal(zone, step, from_ms);
  return at_ms < from_ms ? nextLocal(zone, step, at_ms) : at_ms;
}

/**
 * The beginnings of the intervals from the first that begins at `from_ms` or later to the last that is over at `until_ms`, at
 * most `most` of them, the last ones.
 */
export function startsBetween(
  zone: InsightScope['zone'],
  step: Step,
  from_ms: number,
  until_ms: number,
  most = Infinity,
): number[] {
  let at_ms = wholeFrom(zone, step, from_ms);
  const starts_ms: number[] = [];
  for (;;) {
    const end_ms = nextLocal(zone, step, at_ms);
    if (end_ms > until_ms) return starts_ms;
    if (starts_ms.length >= most) starts_ms.shift();
    starts_ms.push(at_ms);
    at_ms = end_ms;
  }
}
