import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { signatureOf } from '../../../src/http/auth/webhook-signature.ts';
import { messagingClient, type Body } from '../../engage/messaging/messaging-client.ts';
import { type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { FakePlatformClient, spawnFakePlatform, startFakePlatform } from '../fake-platform.ts';

/** A grant as the API shows it. */
export interface ShownGrant extends Record<string, unknown> {
  id: string;
  status: string;
  outcome: string;
  needs_review: boolean;
  bonus_amount: number;
  next_attempt_at: string | null;
  history: { seq: number; event: string; source: string; from_status: string | null; to_status: string }[];
}

/** A template of €10 for nothing, without limits. */
export const GIFT: Body = {
  type: 'no_deposit',
  config: { amount: 1_000, currency: 'EUR' },
  wagering_requirement_multiplier: 10,
};

/** Bonus grants of one project of a service, over HTTP. */
export function grantsFixture(service: TestService, tenant: TestTenant = service) {
  const client = messagingClient(service, tenant);
  const sql = service.platform.postgres.service;
  const { tenant_id, project_id } = tenant;
  let made = 0;
  const on = {
    client,
    sql,
    tenant,
    async template(rest: Body = {}): Promise<string> {
      const body = { name: `bonus ${++made}`, ...GIFT, ...rest };
      const { status, data, error } = await client.api('POST', '/v1/bonus-templates', body);
      expect(status, JSON.stringify(error)).toBe(201);
      return String(data['id']);
    },
    player: async () => (await client.players(1))[0] ?? '',
    grant: (template_id: string, player_id: string, rest: Body = {}, headers: Record<string, string> = {}) =>
      client.api<ShownGrant>(
        'POST',
        '/v1/bonus-grants',
        { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null, ...rest },
        headers,
      ),
    get: async (id: string) => (await client.api<ShownGrant>('GET', `/v1/bonus-grants/${id}`)).data,
    cancel: (id: string, body?: Body) =>
      client.api<ShownGrant>('POST', `/v1/bonus-grants/${id}/cancel`, body ?? {}),
    config: async (bonuses: Body) => {
      const { status, error } = await client.api('PATCH', '/v1/tenant/config', { config: { bonuses } });
      expect(status, JSON.stringify(error)).toBe(200);
    },
    /** The grant once it is as asked. */
    reached: (id: string, is: (grant: ShownGrant) => boolean, timeout_ms = 20_000) =>
      until(
        `grant ${id} is as asked`,
        async (saw) => {
          const grant = saw(await on.get(id));
          return is(grant) ? grant : undefined;
        },
        timeout_ms,
      ),
    /**
     * Makes the next call due now, as if the pause were over. Waits for the end of a call that sends the grant or asks
     * about it: a claim that is cut short is made again beside that call. Where no call is to be made, nothing happens.
     */
    hurry: (id: string) =>
      until(
        `no call of grant ${id} is being made`,
        async (saw) => {
          const [row] = saw(
            await sql<{ is_called: boolean }[]>`
            update bonus_grants set next_attempt_at = case when outcome = 'sent' then next_attempt_at
              when next_attempt_at is not null then now() - interval '1 second' end
            where grant_id = ${id}
            returning outcome = 'sent' and next_attempt_at is not null as is_called`,
          );
          return row?.is_called === false;
        },
        20_000,
      ),
    /** What the project's budgets hold, and what its grants and reserved members cost by template: always the same. */
    async budgets(): Promise<void> {
      const rows = await sql<{ template_id: string; used: string; cost: string }[]>`
        select b.template_id, b.used_base::text as used,
          (coalesce((select sum(g.bonus_amount_base) from bonus_grants g
            where g.template_id = b.template_id and g.status not in ('cancelled', 'failed')), 0)
          + coalesce((select sum(r.cost_base) from bonus_campaign_rows r join bonus_campaigns c using (campaign_id)
            where c.template_id = b.template_id and r.status = 'reserved'), 0))::text as cost
        from bonus_budgets b where b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
      for (const { template_id, used, cost } of rows) expect(used, template_id).toBe(cost);
    },
    /** An active adapter of a new platform of its own. */
    async adapter(rest: Body = {}, place: 'here' | 'own process' = 'here') {
      const platform = await (place === 'here' ? startFakePlatform() : spawnFakePlatform());
      const fake = new FakePlatformClient(platform.url);
      const slug = `casino-${randomUUID().slice(0, 8)}`;
      const body = { slug, kind: 'http', base_url: platform.url, max_rps: 10_000, ...rest };
      const { status, data, error } = await client.api('POST', '/v1/adapters', body);
      expect(status, JSON.stringify(error)).toBe(201);
      const secret = String(data['secret']);
      const webhooks_url = `${service.base_url}/v1/adapters/${slug}/webhooks`;
      await fake.control({ secrets: [secret], webhooks_url });
      return { fake, slug, secret, adapter_id: String(data['id']), close: () => platform.close() };
    },
    /** An event as a platform sends it. */
    async event(
      { slug, secret }: { slug: string; secret: string },
      event: string,
      grant_id: string,
      rest: Body = {},
    ): Promise<{ status: number; body: Record<string, unknown> }> {
      const body = JSON.stringify({
        event,
        event_id: randomUUID(),
        ts: new Date().toISOString(),
        grant_id,
        platform_bonus_id: `pb-${grant_id}`,
        data: {},
        ...rest,
      });
      const timestamp_s = Math.floor(Date.now() / 1_000);
      const response = await fetch(`${service.base_url}/v1/adapters/${slug}/webhooks/bonus-events`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service-signature': signatureOf(secret, timestamp_s, body),
          'x-service-timestamp': String(timestamp_s),
        },
        body,
      });
      const answer = (await response.json()) as {
        data?: Record<string, unknown>;
        error?: Record<string, unknown>;
      };
      return { status: response.status, body: answer.data ?? answer.error ?? {} };
    },
  };
  return on;
}
export type GrantsFixture = ReturnType<typeof grantsFixture>;
