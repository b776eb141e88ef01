import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../engines/service.ts';
import { send } from '../ingest/intake-client.ts';

// Intake reads tenants through the capability cache. A change straight in the database does not invalidate the cache;
// saving the configuration does, at once.

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

test('the first event after a saved configuration is checked against the current state', async () => {
  const other = await service.newTenant();
  const deposit = async (api_key: string) => {
    const properties = {
      amount: 1,
      currency: 'JPY',
      transaction_id: crypto.randomUUID(),
      payment_method: 'card',
    };
    const body = { event: 'deposit_confirmed', anonymous_id: 'a', properties };
    return (await send(`${service.ingest_url}/v1/events`, api_key, { body })).status;
  };
  const setJpy = async (is_active: boolean) => {
    await service.platform.postgres
      .service`update currencies set is_active = ${is_active} where code = 'JPY'`;
  };
  const save = async () => {
    const body = { config: { messaging: { consent_required: true } } };
    const url = `${service.base_url}/v1/tenant/config`;
    expect((await send(url, service.session_token, { method: 'PATCH', body })).status).toBe(200);
  };
  expect(await deposit(service.api_key)).toBe(202);
  expect(await deposit(other.api_key)).toBe(202);
  await setJpy(false);
  expect(await deposit(service.api_key)).toBe(202);
  await save();
  expect(await deposit(service.api_key)).toBe(422);
  // A save of another tenant does not invalidate this one.
  expect(await deposit(other.api_key)).toBe(202);
  await setJpy(true);
  await save();
  expect(await deposit(service.api_key)).toBe(202);
});
