import type { Answer } from '../engines/http-client.ts';
import type { Expected } from './audit-cases.ts';
import { ANY_ALERT, ANY_QUERY, ANY_REPORT } from './filled-insights.ts';

type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** Changes of saved insights, dashboards, alerts and reports, and what their calls have to leave in the audit log. */
export function insightAuditCases(send: Send): Record<string, () => Promise<Expected>> {
  return {
    ...casesOf(send, '/v1/insights', { name: 'audited', query: ANY_QUERY }),
    ...casesOf(send, '/v1/dashboards', { name: 'audited' }),
    ...casesOf(send, '/v1/alerts', { ...ANY_ALERT, name: 'audited' }, [
      'name',
      'query',
      'receivers',
      'is_enabled',
    ]),
    ...casesOf(
      send,
      '/v1/reports',
      async () => {
        const { body } = await send('POST', '/v1/dashboards', { name: 'sent' });
        return { ...ANY_REPORT, name: 'audited', dashboard_id: body.data['id'] };
      },
      ['name', 'dashboard_id', 'schedule', 'receivers', 'is_enabled'],
    ),
  };
}

/** `written`: the fields that the audit log shows of a new one; absent: all of them. */
function casesOf(
  send: Send,
  path: string,
  body: object | (() => Promise<object>),
  written?: readonly string[],
): Record<string, () => Promise<Expected>> {
  const create = async () => send('POST', path, typeof body === 'function' ? await body() : body);
  const idOf = ({ data }: Answer) => String(data['id']);
  return {
    [`POST ${path}`]: async () => {
      const answer = await create();
      const { data } = answer.body;
      const after =
        written === undefined ? data : Object.fromEntries(written.map((name) => [name, data[name]]));
      return { answer, resource_id: idOf(answer), after };
    },
    [`PATCH ${path}/:id`]: async () => {
      const id = idOf(await create());
      const answer = await send('PATCH', `${path}/${id}`, { name: 'other' });
      return { answer, resource_id: id, before: { name: 'audited' }, after: { name: 'other' } };
    },
    [`DELETE ${path}/:id`]: async () => {
      const id = idOf(await create());
      const answer = await send('DELETE', `${path}/${id}`);
      const after = { deleted_at: answer.body.data['deleted_at'] };
      return { answer, resource_id: id, before: { deleted_at: null }, after };
    },
  };
}
