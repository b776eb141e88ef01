import { expect } from 'vitest';
import { call, type Answer } from '../engines/http-client.ts';
import { type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

type Body = Record<string, unknown>;

/** The segment operations of a CRM manager and an operator's backend, over HTTP, in one project of a service. */
export interface SegmentClient {
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Identifies a new player, unless `ids` name one; returns its id. */
  identify(traits?: Body, ids?: Body): Promise<string>;
  send(player_id: string, event: string, properties?: Body, at_ms?: number): Promise<void>;
  deposit(player_id: string, amount: number, at_ms?: number): Promise<void>;
  /** Creates a segment in which all these conditions must hold; returns its id. */
  make(conditions: Body[], rest?: Body): Promise<string>;
  segmentsOf(player_id: string): Promise<string[]>;
  enters(player_id: string, segment_id: string): Promise<unknown>;
  leaves(player_id: string, segment_id: string): Promise<unknown>;
}

export function segmentClient(service: TestService): SegmentClient {
  let made = 0;
  const client: SegmentClient = {
    api: (method, path, body) => call(service.base_url + path, service.session_token, { method, body }),
    async identify(traits = {}, ids = { external_id: `player-${++made}` }) {
      const body = { ...ids, traits };
      const { data } = await call(`${service.base_url}/v1/players/identify`, service.api_key, { body });
      return String(data['player_id']);
    },
    async send(player_id, event, properties = {}, at_ms) {
      const timestamp = at_ms === undefined ? {} : { timestamp: new Date(at_ms).toISOString() };
      const body = { event, player_id, properties, ...timestamp };
      const { status } = await call(`${service.ingest_url}/v1/events`, service.api_key, { body });
      expect(status).toBe(202);
    },
    deposit: (player_id, amount, at_ms) =>
      client.send(
        player_id,
        'deposit_confirmed',
        { amount, currency: 'EUR', transaction_id: `deposit-${++made}`, payment_method: 'card' },
        at_ms,
      ),
    async make(conditions, rest = {}) {
      const body = { name: `segment ${++made}`, definition: { operator: 'AND', conditions }, ...rest };
      const { status, data, error } = await client.api('POST', '/v1/segments', body);
      expect(status, JSON.stringify(error)).toBe(201);
      return String(data['id']);
    },
    async segmentsOf(player_id) {
      return (await client.api('GET', `/v1/players/${player_id}`)).data['segment_ids'] as string[];
    },
    enters: (player_id, segment_id) =>
      until(`the player enters ${segment_id}`, async (saw) =>
        saw(await client.segmentsOf(player_id)).includes(segment_id),
      ),
    leaves: (player_id, segment_id) =>
      until(
        `the player leaves ${segment_id}`,
        async (saw) => !saw(await client.segmentsOf(player_id)).includes(segment_id),
      ),
  };
  return client;
}
