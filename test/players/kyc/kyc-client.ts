import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { signatureOf } from '../../../src/http/auth/webhook-signature.ts';
import { call, sendBatch, type Answer, type Fields } from '../../engines/http-client.ts';
import { folded, type TestService, type TestTenant } from '../../engines/service.ts';

/** A player's KYC, or what else the API gives. */
type Shown = Fields & { history: Fields[]; calls: Fields[] };

/** An operator, and a platform that sends webhooks to it. */
export class KycClient {
  readonly service: TestService;
  readonly tenant: TestTenant;
  adapter = { slug: '', secret: '' };

  constructor(service: TestService, tenant: TestTenant) {
    this.service = service;
    this.tenant = tenant;
  }

  /** An operator with a new tenant of this model; null: it has configured something else alone. */
  static async open(
    service: TestService,
    kyc_model: string | null,
    adapter: Fields = { kind: 'sandbox' },
  ): Promise<KycClient> {
    const client = new KycClient(service, await service.newTenant());
    if (kyc_model === null) await client.api('PATCH', '/v1/tenant/config', { verticals: ['casino'] });
    else await client.model(kyc_model);
    const slug = `casino-${randomUUID().slice(0, 8)}`;
    const made = await client.api('POST', '/v1/adapters', { slug, ...adapter });
    expect(made.status, JSON.stringify(made.error)).toBe(201);
    client.adapter = { slug, secret: String(made.data['secret']) };
    return client;
  }

  async model(kyc_model: string): Promise<void> {
    const { status } = await this.api('PATCH', '/v1/tenant/config', { kyc_model });
    expect(status).toBe(200);
  }

  api(method: string, path: string, body?: unknown, token = this.tenant.session_token) {
    return call<Shown>(this.service.base_url + path, token, { method, body });
  }

  async identify(external_id: string, anonymous_id?: string): Promise<string> {
    const ids = { external_id, ...(anonymous_id === undefined ? {} : { anonymous_id }) };
    const { data } = await this.api('POST', '/v1/players/identify', ids, this.tenant.api_key);
    return String(data['player_id']);
  }

  /** Decides as an operator. */
  decide(
    player_id: string,
    decision: 'request' | 'approve' | 'revoke',
    body?: unknown,
  ): Promise<Answer<Shown>> {
    return this.api('POST', `/v1/players/${player_id}/kyc/${decision}`, body);
  }

  /** The player's KYC with its history. */
  async kyc(player_id: string): Promise<Shown> {
    const { status, data } = await this.api('GET', `/v1/players/${player_id}/kyc`);
    expect(status).toBe(200);
    return data;
  }

  /** Sends a webhook as the platform. */
  async webhook(event: Fields, secret = this.adapter.secret): Promise<Answer<Shown>> {
    const raw = JSON.stringify({ event_id: randomUUID(), ts: new Date().toISOString(), ...event });
    const timestamp_s = Math.floor(Date.now() / 1_000);
    const url = `${this.service.base_url}/v1/adapters/${this.adapter.slug}/webhooks/kyc-events`;
    const headers = {
      'x-service-timestamp': String(timestamp_s),
      'x-service-signature': signatureOf(secret, timestamp_s, raw),
    };
    return call(url, undefined, { raw, headers });
  }

  /** Sends events of a player through intake, and waits until they are folded. */
  async events(
    player_id: string,
    ...events: { event: string; timestamp?: string; properties?: Fields }[]
  ): Promise<void> {
    const named = events.map((event) => ({ player_id, ...event }));
    const { data } = await sendBatch(this.service, this.tenant, named);
    expect(data).toMatchObject({ accepted: events.length, rejected: [] });
    await folded(this.service.platform);
  }
}
