import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { listedIdOf } from '../../src/http/auth/console-sessions.ts';
import { signatureOf } from '../../src/http/auth/webhook-signature.ts';
import { loadLinkKey } from '../../src/engage/messaging/link-key.ts';
import { unsubscribeToken } from '../../src/engage/messaging/unsubscribe-link.ts';
import { loadCredentialsKeys } from '../../src/engage/providers/credentials.ts';
import { readConfig } from '../../src/config.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { call, internally, type Answer, type Call } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { signedAsSendgrid, signedAsTwilio } from '../engage/messaging/callback-fixture.ts';
import type { FilledProject } from '../tenants/filled-project.ts';

/** The last call of a flow, and its body. */
export interface Exchange {
  sent?: unknown;
  answer: Answer;
}

interface Means {
  service: TestService;
  at: FilledProject;
}

/** Calls as the owner of the project. */
async function send({ service, at }: Means, method: string, path: string, body?: unknown): Promise<Exchange> {
  const headers = { 'x-project-id': at.project_id };
  const answer = await call(service.base_url + path, at.session, { method, body, headers });
  return { sent: body, answer };
}

const idOf = ({ answer }: Exchange): string => {
  if (answer.status >= 300) throw new Error(answer.text);
  return String(answer.data['id']);
};

const newSegment = (means: Means) =>
  send(means, 'POST', '/v1/segments', {
    name: 'Everybody',
    definition: { operator: 'AND', conditions: [{ type: 'trait', field: 'email', op: 'exists' }] },
  });
const newCampaign = async (means: Means) => {
  const { segment_id, template_id } = means.at;
  const body = { name: 'Welcome', channel: 'email', segment_id, template_id };
  return `/v1/campaigns/${idOf(await send(means, 'POST', '/v1/campaigns', body))}`;
};
const newJourney = async (means: Means) => {
  const graph = { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] };
  const body = { name: 'Hello', trigger: { kind: 'api' }, graph };
  return `/v1/journeys/${idOf(await send(means, 'POST', '/v1/journeys', body))}`;
};
/** Invites the owner of another tenant: who is of no tenant accepts by the first call. */
const invite = async (means: Means) => {
  const { owner: user_id, session_token: token } = await means.service.newTenant();
  await send(means, 'POST', '/v1/members', { user_id, role: 'viewer' });
  return { path: `/v1/invitations/${means.at.tenant_id}`, token };
};
const newExport = async (means: Means) => {
  const path = `/v1/players/${means.at.player_id}/export`;
  const id = idOf(await send(means, 'POST', path));
  const one = `/v1/players/${means.at.player_id}/exports/${id}`;
  await until('the export is ready', async () => {
    return (await send(means, 'GET', one)).answer.data['status'] === 'ready';
  });
  return one;
};

const newInsightExport = async (means: Means) => {
  const query = { kind: 'trend', range: { last: { days: 2 } }, series: [{ metric: 'ggr' }] };
  const one = `/v1/exports/${idOf(await send(means, 'POST', '/v1/exports', { query, format: 'csv' }))}`;
  await until('the file is ready', async () => {
    return (await send(means, 'GET', one)).answer.data['status'] === 'ready';
  });
  return one;
};

/** Sends a webhook of a new platform, signed. */
async function platformWebhook(means: Means, name: string, event: object): Promise<Exchange> {
  const slug = `platform-${name}`;
  const made = await send(means, 'POST', '/v1/adapters', { slug, kind: 'sandbox', is_active: false });
  if (made.answer.status >= 300) throw new Error(made.answer.text);
  return signed(means, slug, String(made.answer.data['secret']), name, event);
}

async function signed({ service }: Means, slug: string, secret: string, name: string, event: object) {
  const sent = { event_id: randomUUID(), ts: new Date().toISOString(), ...event };
  const raw = JSON.stringify(sent);
  const timestamp_s = Math.floor(Date.now() / 1_000);
  const headers = {
    'x-service-timestamp': String(timestamp_s),
    'x-service-signature': signatureOf(secret, timestamp_s, raw),
  };
  const url = `${service.base_url}/v1/adapters/${slug}/webhooks/${name}`;
  return { sent, answer: await call(url, undefined, { raw, headers }) };
}

async function newProvider(means: Means, kind: string, channel: string, config: object): Promise<string> {
  return idOf(await send(means, 'POST', '/v1/messaging-providers', { name: kind, kind, channel, config }));
}

async function unsubscribePath({ service, at }: Means): Promise<string> {
  const { postgres, logger } = service.platform;
  const keys = await loadCredentialsKeys(readConfig({ DATA_DIR: service.data_dir, ...NO_PROVIDERS }));
  const key = await loadLinkKey(postgres.service, keys, logger);
  const { tenant_id, project_id, player_id, email } = at;
  const token = unsubscribeToken(key, { tenant_id, project_id, player_id, channel: 'email', address: email });
  return `/v1/unsubscribe?token=${token}`;
}

/** Operations that need something before them, or another caller than those of the tests of tenants. */
export const FLOWS: Readonly<Record<string, (means: Means) => Promise<Exchange>>> = {
  'GET /v1/players/:id/exports/:exportId': async (means) => send(means, 'GET', await newExport(means)),
  'GET /v1/players/:id/exports/:exportId/file': async (means) =>
    send(means, 'GET', `${await newExport(means)}/file`),
  'GET /v1/exports/:id': async (means) => send(means, 'GET', await newInsightExport(means)),
  'GET /v1/exports/:id/file': async (means) => send(means, 'GET', `${await newInsightExport(means)}/file`),
  'GET /v1/unsubscribe': async (means) => ({
    answer: await call(means.service.base_url + (await unsubscribePath(means)), undefined),
  }),
  'POST /v1/unsubscribe': async (means) => {
    const request: Call = {
      raw: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    return {
      answer: await call(means.service.base_url + (await unsubscribePath(means)), undefined, request),
    };
  },
  'GET /v1/currencies/fx': async (means) => {
    await send(means, 'POST', '/v1/currencies/rates', { base: 'EUR', quote: 'SEK', rate: '11.25' });
    return send(means, 'GET', '/v1/currencies/fx?base=EUR&quote=SEK');
  },
  'GET /v1/currencies/rates': async (means) => {
    await send(means, 'POST', '/v1/currencies/rates', { base: 'EUR', quote: 'NOK', rate: '11.35' });
    return send(means, 'GET', '/v1/currencies/rates?base=EUR&quote=NOK');
  },
  'GET /v1/event-trace/:ingestion_id/:index': async (means) => {
    const { answer } = await send(means, 'GET', '/v1/event-search');
    const { ingestion_id, event_index = 0, index = event_index } = answer.data[0] ?? {};
    return send(means, 'GET', `/v1/event-trace/${String(ingestion_id)}/${String(index)}`);
  },
  'POST /v1/members': (means) => send(means, 'POST', '/v1/members', { user_id: 'anna', role: 'viewer' }),
  'PATCH /v1/members': async (means) => {
    await send(means, 'POST', '/v1/members', { user_id: 'bert', role: 'viewer' });
    return send(means, 'PATCH', '/v1/members', { user_id: 'bert', role: 'editor' });
  },
  'DELETE /v1/members': async (means) => {
    await send(means, 'POST', '/v1/members', { user_id: 'cleo', role: 'viewer' });
    return send(means, 'DELETE', '/v1/members?user_id=cleo');
  },
  'POST /v1/invitations/:tenant_id/accept': async (means) => {
    const { path, token } = await invite(means);
    return { answer: await call(`${means.service.base_url}${path}/accept`, token, { method: 'POST' }) };
  },
  'DELETE /v1/invitations/:tenant_id': async (means) => {
    const { path, token } = await invite(means);
    return { answer: await call(means.service.base_url + path, token, { method: 'DELETE' }) };
  },
  'GET /v1/invitations': async (means) => {
    const { token } = await invite(means);
    return { answer: await call(`${means.service.base_url}/v1/invitations`, token) };
  },
  'POST /v1/adapters/:slug/webhooks/kyc-events': (means) =>
    platformWebhook(means, 'kyc-events', {
      event: 'kyc.approved',
      player_external_id: means.at.external_id,
      level: 1,
    }),
  'POST /v1/adapters/:slug/webhooks/bonus-events': async (means) => {
    const { adapter_id, adapter_slug, grant_id } = means.at;
    const rotated = await send(means, 'POST', `/v1/adapters/${adapter_id}/rotate-secret`);
    const { answer } = await send(means, 'GET', `/v1/bonus-grants/${grant_id}`);
    const platform_bonus_id = String(answer.data['platform_bonus_id']);
    const event = { event: 'bonus.credited', grant_id, platform_bonus_id, data: {} };
    return signed(means, adapter_slug, String(rotated.answer.data['secret']), 'bonus-events', event);
  },
  'POST /v1/players/:id/tier': async (means) => {
    const tier = { code: 'gold', name: 'Gold', rank: 3, is_active: true };
    await send(means, 'POST', '/v1/vip-tiers', tier);
    const body = { to_code: 'gold', reason: 'asked for by the host' };
    return send(means, 'POST', `/v1/players/${means.at.player_id}/tier`, body);
  },
  'POST /v1/campaigns/:id/cancel': async (means) => send(means, 'POST', `${await newCampaign(means)}/cancel`),
  'PATCH /v1/campaigns/:id': async (means) =>
    send(means, 'PATCH', await newCampaign(means), { name: 'Welcome back' }),
  'DELETE /v1/campaigns/:id/variants/:variantId': async (means) => {
    const path = `${await newCampaign(means)}/variants`;
    const { template_id } = means.at;
    const id = idOf(await send(means, 'POST', path, { name: 'A', template_id, weight: 1 }));
    return send(means, 'DELETE', `${path}/${id}`);
  },
  'POST /v1/journeys/:id/activate': async (means) =>
    send(means, 'POST', `${await newJourney(means)}/activate`),
  'POST /v1/journeys/:id/trigger': async (means) => {
    const path = await newJourney(means);
    await send(means, 'POST', `${path}/activate`);
    return send(means, 'POST', `${path}/trigger`, { player_id: means.at.player_id });
  },
  'POST /v1/messaging-webhooks/sendgrid': async (means) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const webhook_public_key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const config = { api_key: 'SG.key', from: 'casino@example.com', webhook_public_key };
    const id = await newProvider(means, 'sendgrid', 'email', config);
    const sent = [{ event: 'delivered', timestamp: Math.floor(Date.now() / 1_000), sg_event_id: 'e' }];
    const raw = JSON.stringify(sent);
    const url = `${means.service.base_url}/v1/messaging-webhooks/sendgrid?provider_id=${id}`;
    return { sent, answer: await call(url, undefined, { raw, headers: signedAsSendgrid(raw, privateKey) }) };
  },
  'POST /v1/messaging-webhooks/twilio': async (means) => {
    const auth_token = 'a'.repeat(32);
    const config = { account_sid: `AC${'0'.repeat(32)}`, auth_token, from: '+15550000000' };
    const id = await newProvider(means, 'twilio', 'sms', config);
    const path = `/v1/messaging-webhooks/twilio?provider_id=${id}`;
    const sent = { MessageSid: `SM${'0'.repeat(32)}`, MessageStatus: 'delivered' };
    const { base_url } = means.service;
    const raw = new URLSearchParams(sent).toString();
    const headers = signedAsTwilio(path, sent, auth_token);
    return { sent, answer: await call(base_url + path, undefined, { raw, headers }) };
  },
  'POST /v1/compliance/exclusions': async (means) => {
    const { player_id } = means.at;
    const body = { player_id, kind: 'self_exclusion', reason: 'letter of 2 May' };
    const exchange = await send(means, 'POST', '/v1/compliance/exclusions', body);
    // Other examples are about this player.
    await send(means, 'POST', `/v1/compliance/exclusions/${player_id}/lift`, { reason: 'the term is over' });
    return exchange;
  },
  'POST /v1/compliance/exclusions/:player_id/lift': async (means) => {
    const { player_id } = means.at;
    const body = { player_id, kind: 'self_exclusion', reason: 'letter of 2 May' };
    await send(means, 'POST', '/v1/compliance/exclusions', body);
    return send(means, 'POST', `/v1/compliance/exclusions/${player_id}/lift`, { reason: 'the term is over' });
  },
  'POST /v1/compliance/conflicts/:id/resolve': async (means) => {
    const { player_id } = means.at;
    await send(means, 'PATCH', `/v1/players/${player_id}`, { status: 'conflict' });
    return send(means, 'POST', `/v1/compliance/conflicts/${player_id}/resolve`, { note: 'one person' });
  },
  'PATCH /v1/bonus-campaigns/:id': async (means) => {
    const { bonus_template_id, segment_id } = means.at;
    const body = { name: 'Free spins', template_id: bonus_template_id, segment_id };
    const id = idOf(await send(means, 'POST', '/v1/bonus-campaigns', body));
    return send(means, 'PATCH', `/v1/bonus-campaigns/${id}`, { name: 'Free spins in May' });
  },
  'PATCH /v1/currencies/:code': async (means) => {
    await send(means, 'POST', '/v1/currencies', {
      code: 'GLD',
      kind: 'fiat',
      scale: 2,
      symbol: 'G',
      display_name: 'Gold coins',
    });
    return send(means, 'PATCH', '/v1/currencies/GLD', { symbol: 'GC' });
  },
  'DELETE /v1/console-sessions/:id': async (means) => {
    const { auth } = means.service.service;
    if (auth === undefined) throw new Error('the service has no sign-in');
    const user_id = 'gina';
    const { tenant_id } = means.at;
    await internally(means.service, 'memberships', { tenant_id, user_id, role: 'viewer' });
    const nobody = { display_name: null, provider_sid: null, id_token: null };
    const id = listedIdOf(await auth.console_sessions.begin({ user_id, ...nobody }));
    return send(means, 'DELETE', `/v1/console-sessions/${id}`);
  },
  'DELETE /v1/suppressions/:id': async (means) => {
    const body = { channel: 'sms', address: '+35699000009' };
    const id = idOf(await send(means, 'POST', '/v1/suppressions', body));
    return send(means, 'DELETE', `/v1/suppressions/${id}`);
  },
  'DELETE /v1/segments/:id': async (means) =>
    send(means, 'DELETE', `/v1/segments/${idOf(await newSegment(means))}`),
};
