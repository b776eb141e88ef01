import { expect } from 'vitest';
import type { Answer } from '../engines/http-client.ts';

/** What an endpoint's call has to leave; absent sides are null. */
export interface Expected {
  answer: Answer;
  resource_id: string;
  /** Null: the resource is the tenant's. */
  project_id?: null;
  before?: object;
  after?: object;
  /** Absent: this test's. */
  tenant_id?: string;
  /** Resource and action of rows about what follows from the change. */
  also?: [string, string][];
}

type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** Changes of webhook secrets and deliveries, and what their calls have to leave in the audit log. */
export function webhookCases(
  send: Send,
  failedWebhook: () => Promise<{ journey_id: string; event_id: string }>,
): Record<string, () => Promise<Expected>> {
  const create = () => send('POST', '/v1/webhook-secrets');
  const idOf = ({ body }: Answer) => String(body.data['id']);
  return {
    'POST /v1/webhook-secrets': async () => {
      const answer = await create();
      const { secret: _secret, ...shown } = answer.body.data;
      return { answer, resource_id: idOf(answer), after: { ...shown, deleted_at: null } };
    },
    'DELETE /v1/webhook-secrets/:id': async () => {
      const id = idOf(await create());
      const answer = await send('DELETE', `/v1/webhook-secrets/${id}`);
      const after = { deleted_at: answer.body.data['deleted_at'] };
      return { answer, resource_id: id, before: { deleted_at: null }, after };
    },
    ...subscriptionCases(send),
    'POST /v1/journeys/:id/deliveries/:eventId/retry': async () => {
      const { journey_id, event_id } = await failedWebhook();
      const answer = await send('POST', `/v1/journeys/${journey_id}/deliveries/${event_id}/retry`);
      return { answer, resource_id: event_id, before: { status: 'failed' }, after: { status: 'pending' } };
    },
  };
}

/** Changes of event subscriptions, and what their calls have to leave in the audit log. */
function subscriptionCases(send: Send): Record<string, () => Promise<Expected>> {
  const path = '/v1/event-subscriptions';
  const body = { name: 'audited', url: 'https://example.com/', events: ['tier.changed'] };
  const create = () => send('POST', path, body);
  let made: Promise<string> | undefined;
  const idOf = () => (made ??= create().then((answer) => String(answer.body.data['id'])));
  const command = async (name: string, given?: unknown) => {
    const id = await idOf();
    return { answer: await send('POST', `${path}/${id}/${name}`, given), resource_id: id };
  };
  const [active, paused] = [{ status: 'active' }, { status: 'paused' }];
  const secret_id = expect.any(String) as string;
  return {
    [`POST ${path}`]: async () => {
      const answer = await create();
      const { secret: _secret, delivery: _delivery, replay: _replay, ...after } = answer.body.data;
      return { answer, resource_id: String(after['id']), after };
    },
    [`PATCH ${path}/:id`]: async () => {
      const id = await idOf();
      const answer = await send('PATCH', `${path}/${id}`, { name: 'other' });
      return { answer, resource_id: id, before: { name: 'audited' }, after: { name: 'other' } };
    },
    [`DELETE ${path}/:id`]: async () => {
      const id = String((await create()).body.data['id']);
      const answer = await send('DELETE', `${path}/${id}`);
      const after = { deleted_at: answer.body.data['deleted_at'] };
      return { answer, resource_id: id, before: { deleted_at: null }, after };
    },
    [`POST ${path}/:id/pause`]: async () => {
      await command('enable');
      return { ...(await command('pause')), before: active, after: paused };
    },
    [`POST ${path}/:id/enable`]: async () => {
      await command('pause');
      return { ...(await command('enable')), before: paused, after: active };
    },
    [`POST ${path}/:id/rotate-secret`]: async () => {
      return { ...(await command('rotate-secret')), before: { secret_id }, after: { secret_id } };
    },
    [`POST ${path}/:id/test`]: async () => {
      await command('enable');
      const sent = await command('test');
      return { ...sent, after: { event_id: sent.answer.body.data['event_id'] } };
    },
    [`POST ${path}/:id/replay`]: async () => {
      const from = new Date().toISOString();
      return { ...(await command('replay', { from })), after: { from } };
    },
  };
}

/** Changes of adapters, and what their calls have to leave in the audit log. */
function adapterCases(
  send: (method: string, path: string, body?: unknown) => Promise<Answer>,
): Record<string, () => Promise<Expected>> {
  let made = 0;
  const create = () =>
    send('POST', '/v1/adapters', { slug: `audited-${++made}`, kind: 'sandbox', is_active: false });
  return {
    'POST /v1/adapters': async () => {
      const answer = await create();
      const { secret: _secret, ...after } = answer.body.data;
      return { answer, resource_id: String(after['id']), after };
    },
    'PATCH /v1/adapters/:id': async () => {
      const id = String((await create()).body.data['id']);
      const answer = await send('PATCH', `/v1/adapters/${id}`, { max_rps: 7 });
      return { answer, resource_id: id, before: { max_rps: 50 }, after: { max_rps: 7 } };
    },
    'POST /v1/adapters/:id/rotate-secret': async () => {
      const id = String((await create()).body.data['id']);
      const answer = await send('POST', `/v1/adapters/${id}/rotate-secret`);
      const secret_id = expect.any(String) as string;
      return { answer, resource_id: id, before: { secret_id }, after: { secret_id } };
    },
  };
}

/** What compliance officers do with a player, and what their calls have to leave in the audit log. */
export function complianceCases(
  send: Send,
  newPlayer: () => Promise<string>,
): Record<string, () => Promise<Expected>> {
  return {
    'POST /v1/players/:id/reveal': async () => {
      const id = await newPlayer();
      const answer = await send('POST', `/v1/players/${id}/reveal`, { reason: 'asked' });
      return { answer, resource_id: id, after: { revealed: ['email'], reason: 'asked' } };
    },
    'POST /v1/players/:id/erase': async () => {
      const id = await newPlayer();
      const answer = await send('POST', `/v1/players/${id}/erase`, { reason: 'asked', basis: 'Art. 17' });
      const after = { erasure_id: answer.body.data['id'], status: 'requested' };
      return { answer, resource_id: id, after };
    },
    'POST /v1/players/:id/export': async () => {
      const id = await newPlayer();
      const answer = await send('POST', `/v1/players/${id}/export`);
      return { answer, resource_id: id, after: { export_id: answer.body.data['id'], status: 'queued' } };
    },
    'POST /v1/compliance/exclusions': async () => {
      const player_id = await newPlayer();
      const body = { player_id, kind: 'self_exclusion', reason: 'letter' };
      const answer = await send('POST', '/v1/compliance/exclusions', body);
      const before = { status: 'active', self_excluded: false, reason: null };
      const after = { status: 'self_excluded', self_excluded: true, reason: 'letter' };
      return { answer, resource_id: player_id, before, after };
    },
    'POST /v1/compliance/exclusions/:player_id/lift': async () => {
      const player_id = await newPlayer();
      const path = '/v1/compliance/exclusions';
      await send('POST', path, { player_id, kind: 'self_exclusion', reason: 'letter' });
      const answer = await send('POST', `${path}/${player_id}/lift`, { reason: 'over' });
      const before = { status: 'self_excluded', self_excluded: true, reason: null };
      const after = { status: 'active', self_excluded: false, reason: 'over' };
      return { answer, resource_id: player_id, before, after };
    },
    'POST /v1/compliance/conflicts/:id/resolve': async () => {
      const id = await newPlayer();
      await send('PATCH', `/v1/players/${id}`, { status: 'conflict' });
      const note = 'two brothers';
      const answer = await send('POST', `/v1/compliance/conflicts/${id}/resolve`, { note });
      const sides = { before: { status: 'conflict', note: null }, after: { status: 'active', note } };
      return { answer, resource_id: id, ...sides };
    },
  };
}

/** Decisions about a player's KYC, and what their calls have to leave in the audit log. */
export function kycCases(
  send: (method: string, path: string, body?: unknown) => Promise<Answer>,
  newPlayer: () => Promise<string>,
): Record<string, () => Promise<Expected>> {
  const decided = async (id: string, decision: string, body: object) => {
    await send('PATCH', '/v1/tenant/config', { kyc_model: 'crm_owns' });
    return send('POST', `/v1/players/${id}/kyc/${decision}`, body);
  };
  return {
    'POST /v1/players/:id/kyc/request': async () => {
      const id = await newPlayer();
      const answer = await decided(id, 'request', { reason: 'asked' });
      return {
        answer,
        resource_id: id,
        before: { kyc_status: 'none' },
        after: { kyc_status: 'pending', reason: 'asked' },
      };
    },
    'POST /v1/players/:id/kyc/approve': async () => {
      const id = await newPlayer();
      const answer = await decided(id, 'approve', { level: 2 });
      return {
        answer,
        resource_id: id,
        before: { kyc_status: 'none', kyc_level: 0 },
        after: { kyc_status: 'approved', kyc_level: 2 },
      };
    },
    'POST /v1/players/:id/kyc/revoke': async () => {
      const id = await newPlayer();
      await decided(id, 'approve', { level: 2 });
      const answer = await decided(id, 'revoke', { reason: 'forged' });
      return {
        answer,
        resource_id: id,
        before: { kyc_status: 'approved' },
        after: { kyc_status: 'revoked' },
      };
    },
  };
}
/** Changes of bonus templates, and what their calls have to leave in the audit log. */
function bonusTemplateCases(send: Send): Record<string, () => Promise<Expected>> {
  const config = { amount: 500, currency: 'EUR' };
  const create = () => send('POST', '/v1/bonus-templates', { name: 'gift', type: 'no_deposit', config });
  const idOf = ({ body }: Answer) => String(body.data['id']);
  return {
    'POST /v1/bonus-templates': async () => {
      const answer = await create();
      return { answer, resource_id: idOf(answer), after: answer.body.data };
    },
    'PATCH /v1/bonus-templates/:id': async () => {
      const id = idOf(await create());
      const answer = await send('PATCH', `/v1/bonus-templates/${id}`, { max_win_cap: 700 });
      const before = { max_win_cap: null, version: 1 };
      return { answer, resource_id: id, before, after: { max_win_cap: 700, version: 2 } };
    },
    'DELETE /v1/bonus-templates/:id': async () => {
      const id = idOf(await create());
      const answer = await send('DELETE', `/v1/bonus-templates/${id}`);
      const after = { deleted_at: answer.body.data['deleted_at'] };
      return { answer, resource_id: id, before: { deleted_at: null }, after };
    },
  };
}

/** Changes of bonus grants, and what their calls have to leave in the audit log. */
function bonusGrantCases(send: Send, player: () => Promise<string>): Record<string, () => Promise<Expected>> {
  const create = async () => {
    const template = { name: 'gift', type: 'no_deposit', config: { amount: 500, currency: 'EUR' } };
    const { body } = await send('POST', '/v1/bonus-templates', template);
    const ids = { template_id: body.data['id'], player_id: await player() };
    return send('POST', '/v1/bonus-grants', { ...ids, granted_by_kind: 'api', granted_by_id: null });
  };
  const idOf = ({ body }: Answer) => String(body.data['id']);
  const text = expect.any(String) as string;
  return {
    'POST /v1/bonus-grants': async () => {
      const answer = await create();
      const intended = { status: 'pending', outcome: 'sent', next_attempt_at: text };
      const unknown = { platform_bonus_id: null, activated_at: null, updated_at: text };
      return { answer, resource_id: idOf(answer), after: { ...answer.body.data, ...intended, ...unknown } };
    },
    'POST /v1/bonus-grants/:id/cancel': async () => {
      const id = idOf(await create());
      const answer = await send('POST', `/v1/bonus-grants/${id}/cancel`, { reason: 'a mistake' });
      const before = { cancel_requested_at: null, updated_at: text };
      return { answer, resource_id: id, before, after: { cancel_requested_at: text, updated_at: text } };
    },
  };
}

/** Changes of bonus campaigns, and what their calls have to leave in the audit log. */
function bonusCampaignCases(send: Send): Record<string, () => Promise<Expected>> {
  const idOf = ({ body }: Answer) => String(body.data['id']);
  const create = async () => {
    const template = { name: 'gift', type: 'no_deposit', config: { amount: 500, currency: 'EUR' } };
    const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'nobody' }] };
    const template_id = idOf(await send('POST', '/v1/bonus-templates', template));
    const segment = { name: 'nobody', definition, refresh_strategy: 'manual' };
    const segment_id = idOf(await send('POST', '/v1/segments', segment));
    return send('POST', '/v1/bonus-campaigns', { name: 'gifts', template_id, segment_id });
  };
  const text = expect.any(String) as string;
  return {
    'POST /v1/bonus-campaigns': async () => {
      const answer = await create();
      const { stats: _stats, skips: _skips, cost: _cost, daily_budget: _daily, ...after } = answer.body.data;
      return { answer, resource_id: idOf(answer), after };
    },
    'PATCH /v1/bonus-campaigns/:id': async () => {
      const id = idOf(await create());
      const answer = await send('PATCH', `/v1/bonus-campaigns/${id}`, { name: 'presents' });
      const before = { name: 'gifts', updated_at: text };
      return { answer, resource_id: id, before, after: { name: 'presents', updated_at: text } };
    },
    'POST /v1/bonus-campaigns/:id/issue': async () => {
      const id = idOf(await create());
      const answer = await send('POST', `/v1/bonus-campaigns/${id}/issue`);
      const before = { status: 'draft', issued_at: null, updated_at: text };
      return {
        answer,
        resource_id: id,
        before,
        after: { status: 'issuing', issued_at: text, updated_at: text },
      };
    },
  };
}

/** Changes of bonus templates, grants, campaigns and adapters; the grants come before the project has adapters. */
export function bonusCases(
  send: Send,
  player: () => Promise<string>,
): Record<string, () => Promise<Expected>> {
  return {
    ...bonusTemplateCases(send),
    ...bonusGrantCases(send, player),
    ...bonusCampaignCases(send),
    ...adapterCases(send),
  };
}
