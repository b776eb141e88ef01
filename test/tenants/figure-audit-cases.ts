import type { Answer } from '../engines/http-client.ts';
import type { Expected } from './audit-cases.ts';

type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

const query = {
  kind: 'trend',
  range: { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' },
  interval: 'day',
  series: [{ metric: 'depositors' }],
};

/** Segments and files of figures, and what their calls have to leave in the audit log. */
export function figureAuditCases(send: Send): Record<string, () => Promise<Expected>> {
  return {
    'POST /v1/insights/segment': async () => {
      const body = { query, cell: { series: 0 }, name: 'audited', as: 'live' };
      const answer = await send('POST', '/v1/insights/segment', body);
      const after = { name: 'audited', refresh_strategy: 'realtime' };
      return { answer, resource_id: String(answer.body.data['id']), after };
    },
    'POST /v1/exports': async () => {
      const asked = { query, format: 'csv' };
      const answer = await send('POST', '/v1/exports', asked);
      const after = { ...asked, status: 'queued', cell: null, contact: [], reason: null };
      return { answer, resource_id: String(answer.body.data['id']), after };
    },
  };
}
