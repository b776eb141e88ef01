import { expect } from 'vitest';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { messagingClient, type Body } from '../messaging/messaging-client.ts';
import type { Received } from '../webhooks/receiver.ts';

/** A subscription as the API shows it. */
export interface ShownSubscription extends Body {
  id: string;
  status: string;
  secret: string;
  delivery: {
    state: string;
    pending: number;
    failed: number;
    dropped: number;
    last_error: { code: string; status: number | null } | null;
  };
  replay: { from: string; replayed: number; ended_at: string | null } | null;
}

/** The body of an event as a receiver gets it. */
export interface SentEvent {
  event: string;
  event_id: string;
  sequence: number;
  player: { id: string; external_id: string | null } | null;
  data: Body;
}

export const eventsOf = (received: readonly Received[]) =>
  received.map(({ body }) => JSON.parse(body) as SentEvent);

/** The subscriptions of one project of a service, over HTTP. */
export function subscriptionClient(service: TestService, tenant: TestTenant = service) {
  const client = messagingClient(service, tenant);
  const path = '/v1/event-subscriptions';
  let made = 0;
  return {
    ...client,
    async subscribe(url: string, events: string[], rest: Body = {}): Promise<ShownSubscription> {
      const body = { name: `subscription ${++made}`, url, events, ...rest };
      const { status, data, error } = await client.api<ShownSubscription>('POST', path, body);
      expect(status, JSON.stringify(error)).toBe(201);
      return data;
    },
    subscription: async (id: string) => (await client.api<ShownSubscription>('GET', `${path}/${id}`)).data,
    command: async (id: string, command: string, body: Body = {}, wanted = 200) => {
      const answer = await client.api<ShownSubscription>('POST', `${path}/${id}/${command}`, body);
      expect(answer.status, JSON.stringify(answer.error)).toBe(wanted);
      return answer.data;
    },
    unsubscribe: async (id: string) => {
      const answer = await client.api('DELETE', `${path}/${id}`);
      expect(answer.status, JSON.stringify(answer.error)).toBe(200);
    },
    /** Notes changes of tiers, as the rows of the history do, each in a transaction of its own. */
    async changeTiers(player_ids: readonly string[], codes: readonly string[]) {
      const sql = service.platform.postgres.service;
      for (const code of codes) {
        await sql`
          insert into player_tier_history (tenant_id, project_id, player_id, to_code, trigger, context, occurred_at)
          select ${tenant.tenant_id}, ${tenant.project_id}, p::uuid, ${code}, 'manual', '{}', now()
          from jsonb_array_elements_text(${JSON.stringify(player_ids)}::text::jsonb) p`;
      }
    },
  };
}
export type SubscriptionClient = ReturnType<typeof subscriptionClient>;
