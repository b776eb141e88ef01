import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXPORT_TASK } from '../../../src/players/export/job.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { asOwner } from '../../http/idempotency-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture?.close());

/** Asks for the export of a new player of the tenant. */
async function ask({ api_key, session, tenant_id }: Tenant, external_id: string): Promise<string> {
  const identified = await fixture.as(api_key, '/v1/players/identify', {
    method: 'POST',
    body: { external_id },
  });
  const path = `/v1/players/${String(identified.body.data['player_id'])}/export`;
  const asked = await fixture.as(session, path, { method: 'POST' });
  expect(asked.status, asked.text).toBe(202);
  return tenant_id;
}

it('is made before the further exports of a tenant who asked for many earlier, and keeps its turn when it is asked for again', async () => {
  const [many, few] = [await fixture.makeTenant(), await fixture.makeTenant()];
  const asked: string[] = [];
  for (const [tenant, name] of [
    [many, 'a'],
    [many, 'b'],
    [many, 'c'],
    [few, 'a'],
    [few, 'b'],
  ] as const)
    asked.push(await ask(tenant, name));
  // Asked for again: the first one of the tenant, and a further one.
  for (const name of ['a', 'b']) await ask(many, name);
  // In the order in which the worker takes them.
  const jobs = await asOwner(
    fixture.platform.postgres.service,
    (owner) => owner<{ tenant_id: string }[]>`
    select j.payload->>'tenant_id' as tenant_id from graphile_worker._private_jobs j
    join graphile_worker._private_tasks t on t.id = j.task_id
    where t.identifier = ${EXPORT_TASK} and j.payload->>'tenant_id' = any(${asked}::text[])
    order by j.priority, j.run_at, j.id`,
  );
  const { tenant_id } = many;
  expect(jobs.map((job) => (job.tenant_id === tenant_id ? 'many' : 'few'))).toEqual([
    'many',
    'few',
    'many',
    'many',
    'few',
  ]);
});
