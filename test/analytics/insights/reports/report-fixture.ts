import { expect } from 'vitest';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { reportEvaluator } from '../../../../src/analytics/insights/reports/evaluate.ts';
import { InsightRunner } from '../../../../src/analytics/insights/runner.ts';
import type { Fixture } from '../../../http/api-fixture.ts';
import { alertFixture, HOUR_MS } from '../alerts/alert-fixture.ts';

export const DAY_MS = 24 * HOUR_MS;
export const DAILY = { every: 'day', hour: 6 };
/** Deposits of the two days before that of the report. */
export const TWO_DAYS = {
  kind: 'trend',
  range: { last: { days: 2 } },
  interval: 'day',
  series: [{ metric: 'deposits' }],
};

/** A notice as the API shows it. */
export interface ShownNotice {
  id: string;
  status: string;
  error: string | null;
  receiver: { kind: string };
}

/** Reports of a new tenant on an API host without processors, made and sent by the test at times that it sets. */
export async function reportFixture(fixture: Fixture) {
  const on = await alertFixture(fixture);
  const make = async (path: string, body: object): Promise<string> => {
    const { status, text, data } = await on.api(path, { method: 'POST', body });
    expect(status, text).toBe(201);
    return String(data['id']);
  };
  const insight = (name = 'Deposits', query: object = TWO_DAYS) => make('/v1/insights', { name, query });
  const board = async (insights?: readonly string[], rest: object = {}) => {
    const ids = insights ?? [await insight()];
    const tiles = ids.map((insight_id) => ({ insight_id }));
    return make('/v1/dashboards', { name: 'Board', tiles, ...rest });
  };
  const bodyOf = async (rest: object) => ({
    name: 'Daily figures',
    schedule: DAILY,
    receivers: [on.member],
    ...('dashboard_id' in rest ? {} : { dashboard_id: await board() }),
    ...rest,
  });
  return {
    ...on,
    insight,
    board,
    bodyOf,
    create: async (rest: object = {}) => make('/v1/reports', await bodyOf(rest)),
    read: async (id: string) => (await on.api(`/v1/reports/${id}`)).data,
    change: (id: string, body: object) => on.api(`/v1/reports/${id}`, { method: 'PATCH', body }),
    noticesOf: async (id: string) => (await on.api(`/v1/reports/${id}`)).data['notices'] as ShownNotice[],
    contentsOf: async (id: string) => {
      const rows = await fixture.platform.postgres.service<{ content: Record<string, unknown> }[]>`
        select content from insight_notices where owner_id = ${id} order by created_at desc`;
      return rows.map(({ content }) => content);
    },
    /** The body of the newest webhook of a report, before it is sent. */
    payloadOf: async (id: string) => {
      const [row] = await fixture.platform.postgres.service<{ content: { payload: string } }[]>`
        select content from insight_notices where owner_id = ${id} and receiver ->> 'kind' = 'webhook'
        order by created_at desc limit 1`;
      return JSON.parse(row?.content.payload ?? 'null') as ReportPayload;
    },
  };
}

export interface ReportPayload {
  event: string;
  time: string;
  tiles: {
    insight: { name: string };
    answer: { rows: unknown[][] } | null;
    error: { code: string; message: string } | null;
  }[];
}

/** When the time of {@link DAILY} after this day, and so many more, has come and settled. */
export function dueIn(days: number, from_ms = Date.now()): number {
  return (Math.floor(from_ms / DAY_MS) + 1 + days) * DAY_MS + 6 * HOUR_MS + SETTLE_MS;
}

/** Makes once all reports that are due at a time. */
export async function makeAt(
  { platform, config }: Fixture,
  now_ms: number,
  more: { runner?: InsightRunner; caughtUp?: () => Promise<void>; stop?: AbortSignal } = {},
): Promise<void> {
  const evaluator = reportEvaluator({
    ...platform,
    clock: { now_ms: () => now_ms },
    public_url: config.public_url,
    runner: more.runner ?? new InsightRunner(platform),
    caughtUp: more.caughtUp ?? (() => Promise.resolve()),
  });
  // A report a turn of each tenant.
  while (await evaluator.turn(more.stop));
  await evaluator.close();
}
