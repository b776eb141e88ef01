import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { plainArray, textArray } from '../../../src/platform/postgres/arrays.ts';
import { call, type Answer } from '../../engines/http-client.ts';
import { type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';

export type Body = Record<string, unknown>;

/** A send row as the API shows it. */
export interface ShownSend {
  id: string;
  campaign_id: string;
  player_id: string;
  status: string;
  error_code: string | null;
  recipient: string | null;
  variant_id: string;
  template_id: string;
  provider_message_id: string | null;
  provider_code: string | null;
  provider_message: string | null;
  sent_at: string | null;
}

/** A message that the sandbox stored. */
export interface ShownMessage {
  send_id: string | null;
  recipient: string;
  subject: string | null;
  body: string;
  headers: Record<string, string>;
}

/** The messaging operations of a CRM manager, over HTTP, in one project of a service. */
export function messagingClient(service: TestService, tenant: TestTenant = service) {
  const { postgres } = service.platform;
  let made = 0;
  const api = <T = Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> => call<T>(service.base_url + path, tenant.session_token, { method, body, headers });
  async function create(path: string, body: Body): Promise<string> {
    const { status, data, error } = await api('POST', path, body);
    expect(status, JSON.stringify(error)).toBe(201);
    return String(data['id']);
  }
  async function all<T>(path: string): Promise<T[]> {
    const found: T[] = [];
    for (let cursor = ''; ;) {
      const { data, next_cursor } = await api<T[]>('GET', `${path}?limit=200${cursor}`);
      found.push(...data);
      if (next_cursor === null) return found;
      cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
    }
  }
  return {
    api,
    template: (rest: Body = {}) =>
      create('/v1/templates', {
        name: `template ${++made}`,
        channel: 'email',
        status: 'active',
        subject: 'Hello {{first_name}}',
        body: '<p>Dear {{first_name}}</p>',
        ...rest,
      }),
    provider: (rest: Body = {}) =>
      create('/v1/messaging-providers', {
        name: `provider ${++made}`,
        kind: 'sandbox',
        channel: 'email',
        config: {},
        ...rest,
      }),
    campaign: (rest: Body) =>
      create('/v1/campaigns', { name: `campaign ${++made}`, type: 'broadcast', channel: 'email', ...rest }),
    send: (campaign_id: string, headers: Record<string, string> = {}) =>
      api('POST', `/v1/campaigns/${campaign_id}/send`, undefined, headers),
    /**
     * Inserts players straight into Postgres, each with an email address unless `columns` sets it; returns their ids.
     */
    async players(count: number, columns: { email?: null; phone?: string; timezone?: string } = {}) {
      const ids = Array.from({ length: count }, () => randomUUID());
      const emails = ids.map((id) => (columns.email === null ? null : `${id}@example.com`));
      const now = new Date();
      await postgres.service`
        insert into players (tenant_id, project_id, player_id, email, phone, timezone, default_currency_code,
          custom_attributes, created_at, updated_at)
        select ${tenant.tenant_id}, ${tenant.project_id}, u.player_id, u.email, ${columns.phone ?? null},
          ${columns.timezone ?? null}, 'EUR', '{"first_name": "Ada"}', ${now}, ${now}
        from unnest(${plainArray(ids)}::text::uuid[], ${textArray(emails)}::text::text[]) as u (player_id, email)`;
      await postgres.service`
        insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
        select ${tenant.tenant_id}, ${tenant.project_id}, u.player_id, ${now}, ${now}, ${now}
        from unnest(${plainArray(ids)}::text::uuid[]) as u (player_id)`;
      return ids;
    },
    /** Creates and refreshes a manual segment that contains exactly these players; returns its id. */
    async segment(player_ids: readonly string[]) {
      const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'nobody' }] };
      const body = { name: `segment ${++made}`, definition, refresh_strategy: 'manual' };
      const segment_id = await create('/v1/segments', body);
      await postgres.service`
        insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
        select ${tenant.tenant_id}, ${tenant.project_id}, ${segment_id}, u.player_id, now() - interval '1 second'
        from unnest(${plainArray(player_ids)}::text::uuid[]) as u (player_id)`;
      await postgres.service`
        update segments set estimated_size = ${player_ids.length}
        where tenant_id = ${tenant.tenant_id} and segment_id = ${segment_id}`;
      return segment_id;
    },
    recipients: (campaign_id: string) => all<ShownSend>(`/v1/campaigns/${campaign_id}/recipients`),
    messages: (provider_id: string) => all<ShownMessage>(`/v1/messaging-providers/${provider_id}/messages`),
    async stats(campaign_id: string) {
      const { data } = await api<{ status: string; counters: Record<string, number> }>(
        'GET',
        `/v1/campaigns/${campaign_id}/stats`,
      );
      return data;
    },
    /** Resolves when the campaign has this status. */
    reaches: (campaign_id: string, status: string, timeout_ms = 60_000) =>
      until(
        `campaign ${campaign_id} is ${status}`,
        async (saw) => {
          const { data } = saw(await api('GET', `/v1/campaigns/${campaign_id}`));
          return data['status'] === status ? data : undefined;
        },
        timeout_ms,
      ),
    configure: async (messaging: Body) => {
      const { status, error } = await api('PATCH', '/v1/tenant/config', { config: { messaging } });
      expect(status, JSON.stringify(error)).toBe(200);
    },
    async event(player_id: string, event: string, properties: Body = {}) {
      const body = { event, player_id, properties };
      const { status, text } = await call(`${service.ingest_url}/v1/events`, tenant.api_key, { body });
      expect(status, text).toBe(202);
    },
  };
}
export type MessagingClient = ReturnType<typeof messagingClient>;
