import { sign, type KeyObject } from 'node:crypto';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { expect } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import type { Answer } from '../../engines/http-client.ts';
import { openFixture, type Fixture, type Tenant } from '../../http/api-fixture.ts';

type Fields = Record<string, unknown>;

export const PUBLIC_URL = 'http://localhost/api';
export const NOW_S = Math.floor(Date.now() / 1000);
/** The moment this many seconds after the messages were sent. */
export const at = (second: number) => new Date((NOW_S - 1_000 + second) * 1000);

export const SIGNATURE = 'x-twilio-email-event-webhook-signature';
export const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp';

/** The headers with which SendGrid signs a body, at a time in seconds; by default now. */
export function signedAsSendgrid(
  raw: string,
  key: KeyObject,
  timestamp = String(Math.floor(Date.now() / 1000)),
) {
  const signature = sign('sha256', Buffer.from(timestamp + raw), key).toString('base64');
  return { [SIGNATURE]: signature, [TIMESTAMP]: timestamp };
}

/** The headers with which Twilio signs a form that it sends to the path below a base URL, by default PUBLIC_URL. */
export function signedAsTwilio(
  path: string,
  parameters: Record<string, string>,
  auth_token: string,
  base = PUBLIC_URL,
) {
  return {
    'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    'x-twilio-signature': getExpectedTwilioSignature(auth_token, base + path, parameters),
  };
}

/** The columns of a message that callbacks change, and those that identify it. */
export interface Row {
  status: string;
  error_code: string | null;
  provider_id: string | null;
  provider_message_id: string | null;
  recipient: string;
  counted_at: Date | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  machine_opened_at: Date | null;
  clicked_at: Date | null;
  bounced_at: Date | null;
  changed_xid: string;
}

/** The API host, with what tests of callbacks need. */
export interface CallbackFixture {
  api: Fixture;
  /** Creates a provider; returns its id. */
  provider: (of: Tenant, kind: string, channel: string, config: Fields) => Promise<string>;
  /** Inserts a message that was sent a while ago, unless `more` says otherwise; returns its send_id. */
  message: (of: Tenant, provider_id: string | null, more?: Fields) => Promise<string>;
  /** Creates a draft; returns its id. */
  campaign: (of: Tenant) => Promise<string>;
  rowOf: (send_id: string) => Promise<Row>;
  suppressions: (of: Tenant) => Promise<Fields[]>;
}

export async function openCallbackFixture(): Promise<CallbackFixture> {
  const api = await openFixture({ PUBLIC_URL });
  const sql = api.platform.postgres.service;
  return {
    api,
    async provider(of, kind, channel, config) {
      const body = { name: kind, kind, channel, config };
      const answer = await api.as(of.session, '/v1/messaging-providers', { method: 'POST', body });
      expect(answer.status, answer.text).toBe(201);
      return String(answer.body.data['id']);
    },
    async campaign(of) {
      const body = { name: 'campaign', type: 'broadcast', channel: 'email' };
      const answer = await api.as(of.session, '/v1/campaigns', { method: 'POST', body });
      expect(answer.status, answer.text).toBe(201);
      return String(answer.body.data['id']);
    },
    async message({ tenant_id, project_id }, provider_id, more = {}) {
      const send_id = newId();
      const row = {
        tenant_id,
        project_id,
        send_id,
        player_id: newId(),
        channel: 'email',
        provider_id,
        recipient: `${send_id}@example.com`,
        status: 'sent',
        enqueued_at: at(0),
        sent_at: at(0),
        counted_at: at(0),
        ...more,
      };
      await sql`insert into message_sends ${sql(row)}`;
      return send_id;
    },
    async rowOf(send_id) {
      const [row] = await sql<Row[]>`
        select *, changed_xid::text as changed_xid from message_sends where send_id = ${send_id}`;
      if (row === undefined) throw new Error('no such message');
      return row;
    },
    suppressions: ({ tenant_id }) => sql<Fields[]>`
      select channel, address, reason from suppressions where tenant_id = ${tenant_id} order by address`,
  };
}

export function expectRefused(answer: Answer): void {
  expect([answer.status, answer.body.error?.code], answer.text).toEqual([401, 'FORBIDDEN']);
}
