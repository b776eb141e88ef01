import { fastify } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { AuditedChange } from '../../src/http/audit.ts';
import { endpoint } from '../../src/http/endpoint.ts';
import { registerEndpoints, type Guards } from '../../src/http/register.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { deletePlayer } from '../../src/players/profile/change.ts';
import { changedFields } from '../../src/tenants/audit/write.ts';
import { statementWaits } from '../engines/lock-wait.ts';
import { openFixture, type Fixture, type Tenant } from '../http/api-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

async function newPlayer(tenant: Tenant): Promise<string> {
  const body = { external_id: `player-${Math.random()}` };
  const made = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
  return String(made.body.data['player_id']);
}

test('of the custom attributes of a player only the changed one is kept', async () => {
  const tenant = await fixture.makeTenant();
  const id = await newPlayer(tenant);
  for (const custom_attributes of [{ vip: true, shoe_size: 43 }, { vip: false }]) {
    const request = { method: 'PATCH', body: { custom_attributes } };
    expect((await fixture.as(tenant.session, `/v1/players/${id}`, request)).status).toBe(200);
  }
  const { body } = await fixture.as(tenant.session, `/v1/audit-log?resource_id=${id}`);
  const updated_at = expect.any(String) as string;
  expect(body.data[0]?.['before']).toEqual({ 'custom_attributes.vip': true, updated_at });
  expect(body.data[0]?.['after']).toEqual({ 'custom_attributes.vip': false, updated_at });
});

test.each([
  ['PATCH', { phone: '+15550002' }, { phone: null }, { phone: '+15550002' }],
  [
    'DELETE',
    undefined,
    { status: 'active', deleted_at: null },
    { status: 'deleted', deleted_at: expect.any(String) as string },
  ],
])(
  '%s of a player that waited for another change is recorded as a change of what that left',
  async (method, body, before, after) => {
    const { service } = fixture.platform.postgres;
    const tenant = await fixture.makeTenant();
    const id = await newPlayer(tenant);
    await service`update players set email = 'first@example.com' where player_id = ${id}`;
    const { answer } = await service.begin(async (tx) => {
      await tx`update players set email = 'second@example.com' where player_id = ${id}`;
      const sent = fixture.as(tenant.session, `/v1/players/${id}`, { method, ...(body && { body }) });
      await statementWaits(service, tx);
      // In an object, because a promise that is returned is waited for.
      return { answer: sent };
    });
    expect((await answer).status).toBe(200);
    const [row] = await service<{ before: object; after: object }[]>`
    select before, after from audit_log where resource_id = ${id} order by occurred_at desc limit 1`;
    const updated_at = expect.any(String) as string;
    // The log has the fields that differ, and what the other transaction changed is none of them.
    expect(row).toEqual({ before: { ...before, updated_at }, after: { ...after, updated_at } });
  },
);

test('what events change while a session deletes a player is not recorded as done by the session', async () => {
  const { postgres, clock } = fixture.platform;
  const tenant = await fixture.makeTenant();
  const player = { ...tenant, player_id: await newPlayer(tenant) };
  const changes: AuditedChange[] = [];
  const audit = (_tx: unknown, change: AuditedChange) => Promise.resolve(void changes.push(change));
  // In the place of the fold, which changes totals between the two reads of the player.
  const fold = {
    onMerge: () => Promise.resolve(),
    onDelete: async (tx: Tx) => {
      await tx`
        update player_totals set total_deposited = 500, bet_count = 3, seen_at = now()
        where tenant_id = ${tenant.tenant_id} and player_id = ${player.player_id}`;
    },
  };
  await deletePlayer({ postgres, clock, audit, dependents: [fold] }, player);
  const [change] = changes;
  const { after = null } = (change && changedFields(change)) ?? {};
  expect(Object.keys(JSON.parse(after ?? '{}') as object).sort()).toEqual([
    'deleted_at',
    'status',
    'updated_at',
  ]);
});

test('an endpoint whose callers have no session and no internal secret cannot declare audit rows', () => {
  const declaredWith = (access: { mode: 'api_key'; rate: 'none' } | { mode: 'public' }) =>
    endpoint({
      method: 'POST',
      path: '/v1/x',
      summary: 'x',
      access,
      audit: { resource: 'player', action: 'update' },
      status: 200,
      response: z.object({}),
      errors: [],
      handle: () => '',
    });
  const guards = { rates: fixture.config.rates } as Guards;
  for (const access of [{ mode: 'api_key', rate: 'none' }, { mode: 'public' }] as const) {
    const start = () => registerEndpoints(fastify(), [declaredWith(access)], guards);
    expect(start).toThrow(/cannot declare audit rows/);
  }
});

test('rows cannot be changed or removed by the service', async () => {
  const { postgres } = fixture.platform;
  const change = async () =>
    postgres.asTenant(
      (await fixture.makeTenant()).tenant_id,
      (tx) => tx`update audit_log set action = 'delete'`,
    );
  await expect(change()).rejects.toThrow(/permission denied/);
  await expect(postgres.service`delete from audit_log`).rejects.toThrow(/permission denied/);
});
