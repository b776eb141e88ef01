import { expect } from 'vitest';
import type { TestService, TestTenant } from '../../engines/service.ts';

/** An answer of the base API; the type of `data` is loose, because a wrong path fails the assertion. */
export interface Answer {
  status: number;
  data: Record<string, unknown> & { [index: number]: Record<string, unknown> };
  meta: { next_cursor: string | null };
  error: { code: string; details?: { issues?: { path: string }[] } };
  text: string;
}

/** Calls the base API with a session. */
export async function api(
  service: TestService,
  session: string,
  path: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(service.base_url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${session}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, ...(JSON.parse(text) as Omit<Answer, 'status' | 'text'>) };
}

/** Sends events in one batch, all of which must be accepted; returns the ingestion_id. */
export async function accept(
  { ingest_url }: TestService,
  { api_key }: Pick<TestTenant, 'api_key'>,
  ...events: object[]
): Promise<string> {
  const response = await fetch(`${ingest_url}/v1/events/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  const { data } = (await response.json()) as { data: { ingestion_id: string; accepted: number } };
  expect(data.accepted).toBe(events.length);
  return data.ingestion_id;
}

/** Makes a player and returns its id. */
export async function newPlayer(
  { base_url }: TestService,
  { api_key }: Pick<TestTenant, 'api_key'>,
  body: object,
): Promise<string> {
  const response = await fetch(`${base_url}/v1/players/identify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await response.json()) as { data: { player_id: string } }).data.player_id;
}

/** A session of a new user with this role in the tenant. */
export async function member(service: TestService, tenant_id: string, role: string): Promise<string> {
  const user_id = `${role}-${Math.random()}`;
  const internal = async (path: string, body: object) => {
    const response = await fetch(`${service.base_url}/v1/internal/${path}`, {
      method: 'POST',
      headers: { 'x-internal-secret': service.internal_secret, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { data: { session_token: string } };
  };
  await internal('memberships', { tenant_id, user_id, role });
  return (await internal('dev-sessions', { user_id })).data.session_token;
}

/** A deposit of a player; `more` replaces or adds properties. */
export const depositOf = (player_id: string, transaction_id: string, amount: number, more: object = {}) => ({
  event: 'deposit_confirmed',
  player_id,
  properties: { amount, currency: 'EUR', transaction_id, payment_method: 'card', ...more },
});
