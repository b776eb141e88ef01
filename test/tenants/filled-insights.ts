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

/** Creates a saved insight, a dashboard that shows another, and an alert. */
export async function fillInsights(
  { base_url, platform }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<{ insight_id: string; dashboard_id: string; alert_id: string }> {
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
  // Until it was looked at for the first time, its row changes by itself.
  await until(async () => {
    const [{ is_planned } = { is_planned: false }] = await platform.postgres.service<
      { is_planned: boolean }[]
    >`
      select next_at > '-infinity' and extract(minute from next_at) = 5 and extract(second from next_at) = 0 as is_planned
      from alerts where alert_id = ${alert_id}`;
    return is_planned;
  });
  return { insight_id, dashboard_id, alert_id };
}
