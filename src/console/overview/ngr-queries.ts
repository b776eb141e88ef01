import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { InsightScope, Steps } from '../../analytics/insights/kind.ts';
import { compileFilter } from '../../analytics/insights/sql/filter.ts';
import { TREND } from '../../analytics/insights/trend/trend.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { LIMITS } from './money-queries.ts';

/** NGR of a range and of each of its steps, in the smallest unit of the base currency. */
export interface Ngr {
  total: bigint;
  /** In the order of the steps. */
  by_step: bigint[];
}

/**
 * NGR as insights have it: with the project's source of bonus cost, and after its deductions, which are rounded in each step.
 * So the overview, its chart and a trend by the same interval are equal.
 */
export async function askNgr(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  reporting: ReportingSettings,
  now_ms: number,
): Promise<Ngr> {
  // A range of local times that the clocks have skipped.
  if (steps.starts_ms.length === 0) return { total: 0n, by_step: [] };
  const { zone } = reporting;
  const filter = compileFilter({});
  const scope: InsightScope = {
    project,
    now_ms,
    zone,
    reporting,
    steps,
    compared: undefined,
    filter,
    // NGR does not depend on them.
    are_first_deposits_known: true,
  };
  const [from, to] = [steps.from_ms, steps.to_ms].map((at_ms) => new Date(at_ms).toISOString());
  const query = {
    kind: 'trend' as const,
    range: { from: from ?? '', to: to ?? '' },
    interval: steps.interval,
    series: [{ metric: 'ngr' as const }],
  };
  const { statements, read } = TREND.plan(query, scope);
  const question = { ...project, now_ms };
  const answers = [];
  for (const { sql, params } of statements)
    answers.push(
      await clickhouse.query<Record<string, unknown>>(`${sql}\n${LIMITS}`, { ...params, ...question }),
    );
  const { columns, rows, totals } = read(answers);
  const at = columns.findIndex(({ name }) => name === 'ngr');
  const valueOf = (row: (typeof rows)[number] | undefined) => (row?.[at] as bigint | undefined) ?? 0n;
  return { total: valueOf(totals[0]), by_step: rows.map(valueOf) };
}
