import { z } from 'zod';
import { RecentAnswers } from '../recent-answers.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { askInsights, type AskDeps } from './ask.ts';
import { ClosedDays } from './closed-days.ts';
import { playersBody, queryBody } from './kinds.ts';
import { METRIC_NAMES, metricOf } from './metrics/dictionary.ts';
import type { InsightRunner } from './runner.ts';
import { playersOfFigure, type PlayersDeps } from './players.ts';
import { insightAnswer, insightPlayer, metricEntry, playersMeta } from './schema.ts';
import { TenantBulkhead } from '../../segments/tenant-bulkhead.ts';

const access = { mode: 'session', role: 'viewer', scope: 'project' } as const;

/** What asking ClickHouse can lead to. */
const ERRORS = [
  'SEGMENT_NOT_FOUND',
  'SEGMENT_DEFINITION_INVALID',
  'INSIGHT_TOO_EXPENSIVE',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
] as const;

/** Figures of a project (docs/insights.md). */
export function insightEndpoints({
  runner,
  ...platform
}: Platform & { runner: InsightRunner }): AnyEndpoint[] {
  const deps: AskDeps & PlayersDeps = {
    clickhouse: platform.clickhouse,
    postgres: platform.postgres,
    clock: platform.clock,
    runner,
    answers: new RecentAnswers(platform),
    closed_days: new ClosedDays(),
    gate_turns: new TenantBulkhead('count protected players of figures'),
  };
  return [queryEndpoint(deps), playersEndpoint(deps), metricsEndpoint()];
}

function queryEndpoint(deps: AskDeps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/insights/query',
    load: 'elsewhere',
    summary: 'Figures of a project: series over time, also by group and compared with another range',
    access,
    audit: { none: 'it changes nothing' },
    body: queryBody,
    response: insightAnswer,
    errors: ERRORS,
    handle: async ({ caller, body }) => envelopeOfText(await askInsights(deps, projectRefOf(caller), body)),
  });
}

function playersEndpoint(deps: PlayersDeps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/insights/players',
    load: 'elsewhere',
    summary:
      'The players of a figure, with what each adds to it, the largest first, and how many must be left alone',
    access,
    audit: { none: 'it changes nothing' },
    body: playersBody,
    response: z.array(insightPlayer),
    shape: 'list',
    meta: playersMeta,
    errors: ERRORS,
    handle: async ({ caller, body }) => {
      const { rows, ...meta } = await playersOfFigure(deps, projectRefOf(caller), body);
      return envelope(rows, meta);
    },
  });
}

function metricsEndpoint(): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/insights/metrics',
    summary: 'What every metric is called and means',
    access,
    response: z.array(metricEntry),
    handle: () => {
      const entries = METRIC_NAMES.map((name) => {
        const { label, text, unit } = metricOf(name);
        return { name, label, text, unit: unit === 'deductions' ? 'money' : unit };
      });
      return envelope(entries);
    },
  });
}
