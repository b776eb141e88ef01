import { listedIdOf, type ConsoleSessions } from '../../src/http/auth/console-sessions.ts';
import type { Answer } from '../engines/http-client.ts';
import type { Expected } from './audit-cases.ts';

/** Changes of rates, suppressions, members and sessions, and what their calls have to leave in the audit log. */
export function settingsAuditCases(
  send: (method: string, path: string, body?: unknown) => Promise<Answer>,
  sessions: () => ConsoleSessions,
  /** Makes a user a member who has accepted. */
  join: (user_id: string) => Promise<unknown>,
): Record<string, () => Promise<Expected>> {
  const suppressed = (address: string) => send('POST', '/v1/suppressions', { channel: 'sms', address });
  const added = (user_id: string) => send('POST', '/v1/members', { user_id, role: 'viewer' });
  return {
    'POST /v1/currencies/rates': async () => {
      const answer = await send('POST', '/v1/currencies/rates', { base: 'EUR', quote: 'SEK', rate: '11.25' });
      return { answer, resource_id: 'EUR/SEK', project_id: null, after: { rate: '11.25', source: 'manual' } };
    },
    'POST /v1/currencies': async () => {
      const after = { code: 'XTS', kind: 'fiat', scale: 2, symbol: 'X', display_name: 'Test currency' };
      const answer = await send('POST', '/v1/currencies', after);
      return { answer, resource_id: 'XTS', project_id: null, after: { ...after, is_active: true } };
    },
    'PATCH /v1/currencies/:code': async () => {
      const answer = await send('PATCH', '/v1/currencies/ISK', { is_active: false, symbol: 'Íkr' });
      const before = { symbol: 'kr', is_active: true };
      const after = { symbol: 'Íkr', is_active: false };
      return { answer, resource_id: 'ISK', project_id: null, before, after };
    },
    'POST /v1/suppressions': async () => {
      const answer = await suppressed('+46700001');
      const after = { channel: 'sms', address: '+4…', reason: 'manual' };
      return { answer, resource_id: String(answer.body.data['id']), project_id: null, after };
    },
    'DELETE /v1/suppressions/:id': async () => {
      const id = String((await suppressed('+46700002')).body.data['id']);
      const answer = await send('DELETE', `/v1/suppressions/${id}`);
      return { answer, resource_id: id, project_id: null, before: { channel: 'sms', reason: 'manual' } };
    },
    'POST /v1/members': async () => {
      const answer = await added('joiner');
      return { answer, resource_id: 'joiner', project_id: null, after: { role: 'viewer' } };
    },
    'PATCH /v1/members': async () => {
      await added('riser');
      const answer = await send('PATCH', '/v1/members', { user_id: 'riser', role: 'editor' });
      const sides = { before: { role: 'viewer' }, after: { role: 'editor' } };
      return { answer, resource_id: 'riser', project_id: null, ...sides };
    },
    'DELETE /v1/members': async () => {
      await added('goer');
      const answer = await send('DELETE', '/v1/members?user_id=goer');
      return { answer, resource_id: 'goer', project_id: null, before: { role: 'viewer' } };
    },
    'DELETE /v1/console-sessions/:id': async () => {
      await join('sitter');
      const of_user = { user_id: 'sitter', display_name: null, provider_sid: null, id_token: null };
      const id = listedIdOf(await sessions().begin(of_user));
      const answer = await send('DELETE', `/v1/console-sessions/${id}`);
      return { answer, resource_id: id, project_id: null, before: { user_id: 'sitter' } };
    },
  };
}

/** Changes of API keys, and what their calls have to leave in the audit log. */
export function keyAuditCases(
  send: (method: string, path: string, body?: unknown) => Promise<Answer>,
  keysPath: () => string,
): Record<string, () => Promise<Expected>> {
  const idOf = ({ body }: Answer) => String(body.data['id']);
  const made = () => send('POST', keysPath(), { name: 'audited' });
  return {
    'POST /v1/projects/:projectId/api-keys': async () => {
      const answer = await made();
      const { key: _secret, ...after } = answer.body.data;
      return { answer, resource_id: idOf(answer), after };
    },
    'PATCH /v1/projects/:projectId/api-keys/:id': async () => {
      const id = idOf(await made());
      const answer = await send('PATCH', `${keysPath()}/${id}`, { name: 'changed' });
      return { answer, resource_id: id, before: { name: 'audited' }, after: { name: 'changed' } };
    },
    'DELETE /v1/projects/:projectId/api-keys/:id': async () => {
      const id = idOf(await made());
      const answer = await send('DELETE', `${keysPath()}/${id}`);
      const { deleted_at } = answer.body.data;
      return { answer, resource_id: id, before: { deleted_at: null }, after: { deleted_at } };
    },
  };
}
