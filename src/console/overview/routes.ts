import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { readOwnConfig, reportingSettingsOf, type ReportingSettings } from '../../tenants/config/read.ts';
import { findTenantMoney } from '../../tenants/queries.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { overviewJson } from './overview.ts';
import { rangeOf, stepsOf } from './range.ts';
import { readFirstDepositsKnown } from '../../analytics/first-deposit-queries.ts';
import { RecentAnswers } from '../../analytics/recent-answers.ts';
import { overview, overviewQuery, series, seriesQuery } from './schema.ts';
import { isMoney, seriesPoints } from './series.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

/** What a project comes to: money, messages, what runs, who is protected, whether the pipeline keeps up. */
export function overviewEndpoints(platform: Platform): AnyEndpoint[] {
  const { clock, postgres } = platform;
  const answers = new RecentAnswers(platform);
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['SERVICE_UNAVAILABLE'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/overview',
      summary: 'Figures of a range (default: today), of the range to compare with, and of now',
      query: overviewQuery,
      response: overview,
      handle: async ({ caller, query }) => {
        const project = projectRefOf(caller);
        const reporting = reportingSettingsOf(await readOwnConfig(postgres, caller.tenant_id));
        const range = rangeOf(query, clock.now_ms(), reporting.zone);
        // With the beginning of the range: an answer from before midnight is not about today.
        const question = ['overview', range.from_ms, query.to, ...settingsOf(reporting)];
        const { text, is_stale } = await answers.of(project, question, (clickhouse) =>
          overviewJson({ ...platform, clickhouse }, project, range, reporting),
        );
        return envelopeOfText(`{"is_stale":${is_stale},${text.slice(1)}`);
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/series',
      summary: 'A metric of the project by hour, day or week; at most 1,000 points, without events 0',
      query: seriesQuery,
      response: series,
      handle: async ({ caller, query }) => {
        const { metric, interval, event } = query;
        const reporting = reportingSettingsOf(await readOwnConfig(postgres, caller.tenant_id));
        const { zone } = reporting;
        const steps = stepsOf(query, interval, clock.now_ms(), zone);
        const project = projectRefOf(caller);
        const question = [metric, interval, steps.from_ms, steps.to_ms, event, ...settingsOf(reporting)];
        const [{ text, is_stale }, money] = await Promise.all([
          answers.of(project, question, async (clickhouse) => {
            const are_first_deposits_known =
              metric !== 'first_deposits' || (await readFirstDepositsKnown(postgres, project));
            const by = { reporting, are_first_deposits_known, now_ms: clock.now_ms() };
            return seriesPoints(clickhouse, project, query, steps, by);
          }),
          isMoney(metric) ? findTenantMoney(postgres.lookups, caller.tenant_id) : undefined,
        ]);
        const currency = money?.base_currency ?? null;
        return envelopeOfText(
          exactJson({
            metric,
            interval,
            timezone: zone.name,
            currency,
            is_stale,
            points: new JsonText(text),
          }),
        );
      },
    }),
  ];
}

/** What an answer depends on of the project's settings. */
function settingsOf({ zone, bonus_cost, deductions }: ReportingSettings): unknown[] {
  return [zone.name, bonus_cost, deductions];
}
