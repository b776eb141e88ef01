import { expect } from 'vitest';
import { call } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';

/** A query that every project can ask. */
export const ANY_QUERY = {
  kind: 'trend',
  range: { last: { days: 7 } },
  series: [{ metric: 'deposits' }],
};

/** Creates a saved insight, and a dashboard that shows another. */
export async function fillInsights(
  { base_url }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<{ insight_id: string; dashboard_id: string }> {
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
  return { insight_id, dashboard_id };
}
