import { expect, inject, onTestFinished, test } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { openDistributedPlatform } from '../../../src/app/wiring/distributed.ts';
import { startTestService } from '../../engines/service.ts';
import { newInstallation } from '../../engines/installation.ts';
import { send } from '../../ingest/intake-client.ts';

test('a configuration saved through one service applies in the other, whose cache entry would never expire', async () => {
  const servers = await newInstallation(inject('servers'));
  const roles: Config['roles'] = new Set(['api', 'intake']);
  const now_ms = Date.now();
  const open = async () => {
    const service = await startTestService({ roles }, async (config) => {
      const platform = await openDistributedPlatform(config, servers);
      return { ...platform, clock: { now_ms: () => now_ms } };
    });
    onTestFinished(() => service.close());
    return service;
  };
  const [here, there] = [await open(), await open()];
  const { api_key, session_token, tenant_id } = here;
  const deposit = async () => {
    const properties = {
      amount: 1,
      currency: 'JPY',
      transaction_id: crypto.randomUUID(),
      payment_method: 'card',
    };
    const body = { event: 'deposit_confirmed', anonymous_id: 'a', properties };
    return (await send(`${there.ingest_url}/v1/events`, api_key, { body })).status;
  };
  const { service } = here.platform.postgres;
  expect(await deposit()).toBe(202);
  await service`update currencies set is_active = false where tenant_id = ${tenant_id} and code = 'JPY'`;
  expect(await deposit()).toBe(202);
  // Both services provisioned an owner with the same name, so this user belongs to two tenants and must name one.
  const headers = { 'x-tenant-id': tenant_id };
  const request = { method: 'PATCH', body: { kyc_model: 'dual' }, headers };
  expect((await send(`${here.base_url}/v1/tenant/config`, session_token, request)).status).toBe(200);
  await expect.poll(deposit, { timeout: 10_000 }).toBe(422);
});
