import { expect } from 'vitest';
import { call } from '../../engines/http-client.ts';
import { type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type Body } from '../messaging/messaging-client.ts';

export const group = (...conditions: Body[]) => ({ operator: 'AND', conditions });
export const everybody = group({ type: 'random', percent: 100, salt: 'everybody' });
export const counted = (event: string, op: string, value: number, rest: Body = {}) => ({
  type: 'event',
  event,
  aggregate: 'count',
  op,
  value,
  ...rest,
});

/** A triggered campaign with a provider of its own, which identifies its messages. */
export interface Armed {
  campaign_id: string;
  provider_id: string;
}

/** A decision about an event, as Postgres has it. */
export interface StoredDecision {
  outcome: 'fired' | 'refused' | 'failed' | null;
  last_error: string | null;
  player_id: string;
  attempts: number;
}

/** What a CRM manager and a casino do with triggered campaigns, over HTTP; no membership is written by hand. */
export function triggerFixture(service: TestService, tenant: TestTenant = service) {
  const client = messagingClient(service, tenant);
  const { service: sql } = service.platform.postgres;
  let made = 0;
  async function post(url: string, token: string, body: unknown, status: number): Promise<Body> {
    const answer = await call(url, token, { body });
    expect(answer.status, answer.text).toBe(status);
    return answer.data;
  }
  /** The recorded events of a campaign, decided or not. */
  const eventsOf = (campaign_id: string) => sql<StoredDecision[]>`
    select outcome, last_error, player_id, attempts from trigger_events
    where listener_id = ${campaign_id} order by recorded_at, event_key`;
  return {
    client,
    /** Identifies a player with an email address; returns its id. */
    async person(ids: Body = { external_id: `triggered-${++made}` }, traits: Body = {}): Promise<string> {
      const email = `triggered-${++made}@example.com`;
      const body = { ...ids, traits: { email, ...traits } };
      const data = await post(`${service.base_url}/v1/players/identify`, tenant.api_key, body, 200);
      return String(data['player_id']);
    },
    async segment(definition: Body, rest: Body = { refresh_strategy: 'realtime' }): Promise<string> {
      const body = { name: `segment ${++made}`, definition, ...rest };
      const data = await post(`${service.base_url}/v1/segments`, tenant.session_token, body, 201);
      return String(data['id']);
    },
    /** Starts a triggered campaign for the event. */
    async arm(trigger_event: string, segment_id: string | null, template: Body = {}): Promise<Armed> {
      const [provider_id, template_id] = await Promise.all([client.provider(), client.template(template)]);
      const plan = { segment_id, template_id, provider_id, type: 'triggered', trigger_event };
      const campaign_id = await client.campaign(plan);
      expect((await client.send(campaign_id)).status).toBe(200);
      return { campaign_id, provider_id };
    },
    event: (player_id: string, name: string, properties: Body = {}) =>
      client.event(player_id, name, properties),
    /** Sends events of a player in one request, which the log keeps in this order. */
    events: (player_id: string, ...named: [event: string, properties?: Body][]) =>
      post(
        `${service.ingest_url}/v1/events/batch`,
        tenant.api_key,
        { events: named.map(([event, properties = {}]) => ({ event, player_id, properties })) },
        202,
      ),
    /** Sends an event of an anonymous visitor. */
    visit: (anonymous_id: string, event: string, properties: Body = {}) =>
      post(`${service.ingest_url}/v1/events`, tenant.api_key, { event, anonymous_id, properties }, 202),
    deposit: (player_id: string, transaction_id = `deposit ${++made}`, amount = 5_000) => {
      const properties = { amount, currency: 'EUR', transaction_id, payment_method: 'card' };
      return client.event(player_id, 'deposit_confirmed', properties);
    },
    /** The messages of a campaign, once there are so many. */
    messages: ({ campaign_id, provider_id }: Armed, count: number) =>
      until(`${count} messages`, async (saw) => {
        const found = saw(await client.messages(provider_id));
        if (found.length >= count) return found;
        saw(await eventsOf(campaign_id));
        return undefined;
      }),
    /** The decisions about a campaign's events, once there are so many. */
    decided: ({ campaign_id }: Armed, count: number) =>
      until(`${count} decisions`, async (saw) => {
        const rows = saw(await eventsOf(campaign_id)).filter(({ outcome }) => outcome !== null);
        return rows.length >= count ? rows : undefined;
      }),
    /** The events of a campaign that wait for a decision. */
    waiting: ({ campaign_id }: Armed) =>
      sql<StoredDecision[]>`
        select outcome, last_error, player_id, attempts from trigger_events
        where listener_id = ${campaign_id} and decided_at is null`,
    lastError: async ({ campaign_id }: Armed) =>
      (await client.api('GET', `/v1/campaigns/${campaign_id}`)).data['last_error'],
  };
}
export type TriggerFixture = ReturnType<typeof triggerFixture>;
