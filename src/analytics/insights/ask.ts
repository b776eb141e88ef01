import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { RecentAnswers } from '../recent-answers.ts';
import { readFirstDepositsKnown } from '../first-deposit-queries.ts';
import { exactJson } from '../../platform/exact-json.ts';
import type { Platform } from '../../platform/platform.ts';
import { localDate } from '../../platform/local-intervals.ts';
import type { TimeZone } from '../../platform/time-zone.ts';
import { requireReferences } from '../../segments/change.ts';
import { readDefinition } from '../../segments/language/definition.ts';
import { requireSegment } from '../../segments/read.ts';
import { reportingSettingsOf, readOwnConfig } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { ClosedDays } from './closed-days.ts';
import { selectRestating } from './insight-queries.ts';
import type { Figures, InsightScope, Steps } from './kind.ts';
import { kindOf } from './kinds.ts';
import { comparedSteps, stepsOf } from './range.ts';
import type { InsightRunner } from './runner.ts';
import type { InsightQuery } from './schema.ts';
import { compileFilter } from './sql/filter.ts';

export interface AskDeps extends Pick<Platform, 'postgres' | 'clock'> {
  runner: InsightRunner;
  answers: RecentAnswers;
  closed_days: ClosedDays;
}

/** A query with what it is asked within. */
export interface Asked {
  query: InsightQuery;
  scope: InsightScope;
  currency: string;
}

/**
 * What a query is asked within. Rejects with VALIDATION_ERROR, SEGMENT_NOT_FOUND or SEGMENT_DEFINITION_INVALID.
 */
export async function readAsked(
  { postgres, clock }: Pick<AskDeps, 'postgres' | 'clock'>,
  project: ProjectRef,
  query: InsightQuery,
): Promise<Asked> {
  const { tenant_id } = project;
  const [config, are_first_deposits_known] = await Promise.all([
    readOwnConfig(postgres, tenant_id),
    readFirstDepositsKnown(postgres, project),
  ]);
  const reporting = reportingSettingsOf(config);
  const { zone } = reporting;
  const now_ms = clock.now_ms();
  const steps = stepsOf(query, now_ms, zone);
  const { segment_id, definition: given, where } = query.filter ?? {};
  const definition = given === undefined ? undefined : readDefinition(given);
  if (definition !== undefined) await requireReferences(postgres, project, definition);
  if (segment_id !== undefined) await requireSegment(postgres, { ...project, segment_id });
  const compare = 'compare' in query ? query.compare : undefined;
  const compared = compare === undefined ? undefined : comparedSteps(steps, compare, zone);
  const filter = compileFilter({ segment_id, definition, where });
  const scope = { project, now_ms, zone, reporting, steps, compared, filter, are_first_deposits_known };
  return { query, scope, currency: config.base_currency };
}

/** The query with the times that it means now, for work that is done later; `last` would mean others then. */
export function withFixedRange({ query, scope: { steps } }: Asked): InsightQuery {
  if (!('last' in query.range)) return query;
  const [from, to] = [steps.from_ms, steps.to_ms].map((at_ms) => new Date(at_ms).toISOString());
  return { ...query, range: { from: from ?? '', to: to ?? '' } };
}

/** The answer of a query as JSON text, at most 10 s old. Rejects as {@link readAsked} and `InsightRunner.run`. */
export async function askInsights(deps: AskDeps, project: ProjectRef, query: InsightQuery): Promise<string> {
  const asked = await readAsked(deps, project, query);
  const { steps, zone } = asked.scope;
  const [{ text, is_stale }, restating_days] = await Promise.all([
    deps.answers.of(project, questionOf(asked), (clickhouse) => compute(deps, asked, clickhouse)),
    restatingDays(deps, project, steps, zone),
  ]);
  return withState(text, is_stale, restating_days);
}

/** The same, computed now. Rejects as {@link askInsights}. */
export async function askAnew(
  deps: Omit<AskDeps, 'answers'> & { clickhouse: ClickHouseQueries },
  project: ProjectRef,
  query: InsightQuery,
): Promise<string> {
  const asked = await readAsked(deps, project, query);
  const { steps, zone } = asked.scope;
  const text = await compute(deps, asked, deps.clickhouse);
  return withState(text, false, await restatingDays(deps, project, steps, zone));
}

function withState(text: string, is_stale: boolean, restating_days: number): string {
  return `{"is_stale":${is_stale},"restating_days":${restating_days},${text.slice(1)}`;
}

/** With the beginning and end of the range: an answer from before midnight is not about today. */
function questionOf({ query, scope: { steps, zone, reporting } }: Asked): unknown[] {
  return [
    'insight',
    query,
    steps.from_ms,
    steps.to_ms,
    zone.name,
    reporting.bonus_cost,
    reporting.deductions,
  ];
}

async function compute(
  { clock, runner, closed_days }: Omit<AskDeps, 'answers'>,
  asked: Asked,
  clickhouse: ClickHouseQueries,
): Promise<string> {
  const { query, scope } = asked;
  const { project } = scope;
  const plan = kindOf(query).plan(query, scope);
  const as_of = new Date(clock.now_ms()).toISOString();
  const key = `${project.tenant_id} ${project.project_id} ${exactJson(questionOf(asked))}`;
  const text = await closed_days.of(
    key,
    plan,
    scope,
    (statements) => runner.run(clickhouse, project, statements),
    (rows) => answerText(asked, plan.read(rows)),
  );
  return `{"as_of":"${as_of}",${text.slice(1)}`;
}

/** The part of an answer that stays the same until an event or a setting changes. */
export function answerText({ query, scope, currency }: Asked, figures: Figures): string {
  const { zone, reporting } = scope;
  const { columns, rows, totals, other, error } = figures;
  return exactJson({
    kind: query.kind,
    currency,
    timezone: zone.name,
    bonus_cost: reporting.bonus_cost,
    is_exact: error === undefined,
    error: error ?? null,
    columns,
    rows,
    totals,
    other,
  });
}

/** How many days of a range have events that are being written anew. */
async function restatingDays(
  { postgres }: Pick<AskDeps, 'postgres'>,
  project: ProjectRef,
  steps: Steps,
  zone: TimeZone,
): Promise<number> {
  const [found] = await postgres.readAsTenant(project.tenant_id, (tx) => selectRestating(tx, project, steps));
  if (found === undefined) return 0;
  if (found.is_everything) {
    const shown_ms = zone.localMs(steps.to_ms) - zone.localMs(steps.from_ms);
    return Math.max(1, Math.round(shown_ms / 86_400_000));
  }
  return new Set(found.quarters_ms.map((at_ms) => localDate(zone, Number(at_ms)))).size;
}
