import { expect } from 'vitest';
import { call, internally, sendBatch, type Answer, type Call } from '../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';

/** Calls the base API with a session. */
export const api = (service: TestService, session: string, path: string, request?: Call): Promise<Answer> =>
  call(service.base_url + path, session, request);

/** Sends events in one batch, all of which must be accepted; returns the ingestion_id. */
export async function accept(
  service: TestService,
  tenant: Pick<TestTenant, 'api_key'>,
  ...events: object[]
): Promise<string> {
  const { data } = await sendBatch<{ ingestion_id: string; accepted: number }>(service, tenant, events);
  expect(data.accepted).toBe(events.length);
  return data.ingestion_id;
}

/** Makes a player and returns its id. */
export async function newPlayer(
  { base_url }: TestService,
  { api_key }: Pick<TestTenant, 'api_key'>,
  body: object,
): Promise<string> {
  return String((await call(`${base_url}/v1/players/identify`, api_key, { body })).data['player_id']);
}

/** A session of a new user with this role in the tenant. */
export async function member(service: TestService, tenant_id: string, role: string): Promise<string> {
  const user_id = `${role}-${Math.random()}`;
  await internally(service, 'memberships', { tenant_id, user_id, role });
  return String((await internally(service, 'dev-sessions', { user_id })).data['session_token']);
}

/** A deposit of a player; `more` replaces or adds properties. */
export const depositOf = (player_id: string, transaction_id: string, amount: number, more: object = {}) => ({
  event: 'deposit_confirmed',
  player_id,
  properties: { amount, currency: 'EUR', transaction_id, payment_method: 'card', ...more },
});
