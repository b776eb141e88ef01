import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import { startBefore } from '../../../platform/local-intervals.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { InsightRunner } from '../runner.ts';
import { factsOf } from './facts.ts';
import { decideIntervals, readMeasure, startsBetween } from './measure.ts';
import { PREVIEW_DAYS, PREVIEWED_FIRINGS, type PreviewBody } from './schema.ts';

/**
 * Which intervals of the last 90 days would have fired, as JSON text; an alert decides by the same function. Rejects as `readMeasure` and
 * `InsightRunner.run`.
 */
export async function previewAlert(
  deps: Pick<Platform, 'postgres' | 'clock'> & { runner: InsightRunner; clickhouse: ClickHouseQueries },
  project: ProjectRef,
  { query, interval, condition }: PreviewBody,
): Promise<string> {
  const measure = await readMeasure(deps, project, query, interval);
  const { zone, now_ms } = measure.asked.scope;
  const from_ms = startBefore(zone, 'day', now_ms, PREVIEW_DAYS);
  const starts_ms = startsBetween(zone, interval, from_ms, now_ms);
  const decided = await decideIntervals(deps, measure, condition, starts_ms);
  const fired = decided.filter(({ decision }) => decision.kind === 'fires');
  return exactJson({
    currency: measure.asked.currency,
    timezone: zone.name,
    from: timeOf(from_ms),
    to: timeOf(decided.at(-1)?.to_ms ?? from_ms),
    intervals: decided.length,
    undecided: decided.filter(({ decision }) => decision.kind === 'unknown').length,
    fired: fired.length,
    firings: fired
      .slice(-PREVIEWED_FIRINGS)
      .toReversed()
      .map(({ from_ms: begin_ms, to_ms, value, decision }) => ({
        from: timeOf(begin_ms),
        to: timeOf(to_ms),
        ...factsOf(value, decision),
      })),
  });
}

const timeOf = (at_ms: number) => new Date(at_ms).toISOString();
