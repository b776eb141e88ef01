import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEpochState } from '../../../src/analytics/epoch-queries.ts';
import { migrateJobs } from '../../../src/platform/jobs/migrate.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

// The user of the service as docker-compose.yml makes it: it owns its database, may create roles, and is no superuser.

let server: TestPostgres;
let url: string;
beforeAll(async () => {
  server = await openTestPostgres({ own: true });
  const admin = connectPool(server.url, { max: 1 });
  await admin`create role plain_owner login createrole password 'plain'`;
  await admin`create database plain owner plain_owner`;
  await admin.end({ timeout: 5 });
  const at = new URL(server.url);
  Object.assign(at, { username: 'plain_owner', password: 'plain', pathname: '/plain' });
  url = at.href;
});
afterAll(() => server?.close());

test('migrates everything, and works as the roles of the service', async () => {
  const owner = connectPool(url, { max: 2 });
  const logger = createLogger('silent');
  await migratePostgres(owner);
  await migrateJobs(url, logger);
  const [user] = await owner<
    { rolsuper: boolean }[]
  >`select rolsuper from pg_roles where rolname = current_user`;
  expect(user).toEqual({ rolsuper: false });
  await owner.end({ timeout: 5 });
  const postgres = openPostgres(url);
  expect(await readEpochState(postgres.service)).toMatchObject({ is_ready: false });
  const tenant_id = '01900000-0000-7000-8000-00000000000a';
  await postgres.service`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'Casino', 'EUR')`;
  const seen = (id: string) => postgres.asTenant(id, (tx) => tx`select from tenants`);
  expect(await seen(tenant_id)).toHaveLength(1);
  expect(await seen('01900000-0000-7000-8000-00000000000b')).toHaveLength(0);
  await postgres.close();
});
