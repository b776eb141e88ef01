import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { placed, session } from '../identity/operator.ts';
import { DAY_MS, TierClient } from './tier-client.ts';

// Tiers with a host, into which a licence lets nobody be promoted without checks.

let service: TestService;
let client: TierClient;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  client = await TierClient.open(service);
});

const known = async (name = 'ann') =>
  (await client.identify({ external_id: name, anonymous_id: name })).player_id;
const stake = (name: string, amount: number) => placed({ anonymous_id: name }, randomUUID(), amount);

it('under the UK licence a tier with a host waits for checks', async () => {
  await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  await client.tier('gold', 1, 100);
  await client.tier('host', 2, 1_000, { perks: { dedicated_host: true } });
  const id = await known();
  await client.send(stake('ann', 1_000));
  const tier = await client.reaches(id, 'gold');
  expect(tier).toMatchObject({ pending_approval: 'host' });
  expect(tier.history[0]?.context).toMatchObject({ pending_approval: 'host' });
  const wanted = { to_code: 'host', reason: 'checked' };
  const waits = { changed: false, reason: 'pending_approval', context: { pending_approval: 'host' } };
  expect((await client.set(id, wanted)).data).toMatchObject(waits);
  expect((await client.set(id, {})).data).toMatchObject(waits);
  const { tenant_id } = client.tenant;
  const asked = { tenant_id, player_id: id, trigger: 'auto' };
  expect((await client.internal('/v1/internal/recompute-tier', asked)).data).toMatchObject(waits);
  const poor = await known('poor');
  await client.fold(session({ anonymous_id: 'poor' }));
  expect((await client.set(poor, wanted)).data).toMatchObject(waits);
  await client.set(poor, {});
  await client.fold(stake('poor', 100));
  // What a person asked for stays visible though the rules have given another tier.
  expect(await client.reaches(poor, 'gold')).toMatchObject({ pending_approval: 'host' });
  const yesterday = new Date(Date.now() - DAY_MS).toISOString();
  const approval = {
    affordability_at: yesterday,
    harm_check_at: yesterday,
    edd_at: yesterday,
    approved_by: 'M. Holder',
  };
  const early = { ...approval, edd_at: new Date(Date.now() + DAY_MS).toISOString() };
  expect((await client.set(id, { ...wanted, approval: early })).status).toBe(422);
  const given = (await client.set(id, { ...wanted, approval })).data;
  expect(given).toMatchObject({ changed: true, to_code: 'host' });
  expect(given).not.toHaveProperty('context');
  const approved = await client.tierOf(id);
  expect(approved).toMatchObject({ pending_approval: null });
  expect(approved.history[0]?.context).toMatchObject({ approval });
});

it('a tier that waits for checks under the UK licence is given by the next sweep under another licence', async () => {
  await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  await client.tier('host', 2, 1_000, { perks: { dedicated_host: true } });
  const id = await known();
  await client.send(stake('ann', 1_000));
  await until('the tier waits', async (saw) => saw((await client.tierOf(id))['pending_approval']) === 'host');
  await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'mga' });
  await client.settled();
  expect(await client.tierOf(id)).toMatchObject({ current_tier_code: null, pending_approval: 'host' });
  await client.sweep(0);
  expect(await client.tierOf(id)).toMatchObject({ current_tier_code: 'host', pending_approval: null });
});

it('a tier waits for no checks where the tenant has loosened the rule, and again where it has not', async () => {
  const override = (ukgc_vip_checks: object | null) =>
    client.api('PATCH', '/v1/tenant/config', {
      license_jurisdiction: 'ukgc',
      config: { license_rules: { ukgc_vip_checks } },
    });
  const loose = { severity: 'warn', reason: 'the operator checks elsewhere' };
  expect((await override(loose)).status).toBe(200);
  await client.tier('host', 2, 1_000, { perks: { dedicated_host: true } });
  const id = await known();
  const wanted = { to_code: 'host', reason: 'checked elsewhere' };
  expect((await client.set(id, wanted)).data).toMatchObject({ changed: true, to_code: 'host' });
  expect((await override(null)).status).toBe(200);
  const other = await known('other');
  expect((await client.set(other, wanted)).data).toMatchObject({
    changed: false,
    reason: 'pending_approval',
  });
  // What was earned and waits is given by the next sweep once the tenant has loosened the rule.
  await client.fold(stake('other', 1_000));
  await client.settled();
  expect(await client.tierOf(other)).toMatchObject({ current_tier_code: null, pending_approval: 'host' });
  await override(loose);
  await client.settled();
  await client.sweep(0);
  expect(await client.tierOf(other)).toMatchObject({ current_tier_code: 'host', pending_approval: null });
});
