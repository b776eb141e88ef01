import { expect } from 'vitest';
import { call } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

/** A query that every project can ask. */
export const ANY_QUERY = {
  kind: 'trend',
  range: { last: { days: 7 } },
  series: [{ metric: 'deposits' }],
};

/** An alert that every project can have. */
export const ANY_ALERT = {
  query: { kind: 'trend', series: [{ metric: 'deposits' }] },
  interval: 'day',
  condition: { kind: 'threshold', op: 'lt', value: 0 },
  receivers: [{ kind: 'webhook', url: 'https://operator.example/alerts' }],
};

/** A report that every project with a dashboard can have. */
export const ANY_REPORT = {
  schedule: { every: 'month', day: 1, hour: 6 },
  receivers: [{ kind: 'webhook', url: 'https://operator.example/reports' }],
};

/** Creates a saved insight, a dashboard that shows another, an alert, and a report of a further dashboard. */
export async function fillInsights(
  { base_url, platform }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<{ insight_id: string; dashboard_id: string; alert_id: string; report_id: string }> {
  const make = async (path: string, body: object) => {
    const headers = { 'x-project-id': project_id };
    const { status, text, data } = await call(base_url + path, session_token, {
      method: 'POST',
      body,
      headers,
    });
    expect(status, text).toBe(201);
    return String(data['id']);
  };
  const insight_id = await make('/v1/insights', { name: `insight-${label}`, query: ANY_QUERY });
  const shown = await make('/v1/insights', { name: `shown-${label}`, query: ANY_QUERY });
  const tiles = [{ insight_id: shown }];
  const dashboard_id = await make('/v1/dashboards', { name: `dashboard-${label}`, tiles });
  const alert_id = await make('/v1/alerts', { ...ANY_ALERT, name: `alert-${label}` });
  const sent = await make('/v1/dashboards', { name: `sent-${label}`, tiles });
  const report_id = await make('/v1/reports', { ...ANY_REPORT, name: `report-${label}`, dashboard_id: sent });
  // Until they were looked at for the first time, their rows change by themselves.
  await until(async () => {
    const [{ is_planned } = { is_planned: false }] = await platform.postgres.service<
      { is_planned: boolean }[]
    >`
      select bool_and(next_at > '-infinity' and extract(minute from next_at) = 5 and extract(second from next_at) = 0) as is_planned
      from (
        select next_at from alerts where alert_id = ${alert_id}
        union all select next_at from reports where report_id = ${report_id}) d`;
    return is_planned;
  });
  return { insight_id, dashboard_id, alert_id, report_id };
}
