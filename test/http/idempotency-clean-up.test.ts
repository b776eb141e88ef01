import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, it } from 'vitest';
import { CLEAN_UP_CRONTAB } from '../../src/http/idempotency.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

it('the scheduler removes expired records of a tenant that sends no more requests', async () => {
  const { jobs, postgres } = service.platform;
  const sql = postgres.service;
  const tenant_id = randomUUID();
  const remember = (age: string) => sql`
    insert into idempotency_keys (tenant_id, route, idempotency_key, request_hash, status, response, created_at)
    values (${tenant_id}, 'POST /old', gen_random_uuid(), '\\x00', 200, '{}', now() - ${age}::interval)`;
  await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'gone', 'EUR')`;
  await remember('8 days');
  await remember('6 days');
  const [nightly] = CLEAN_UP_CRONTAB;
  if (nightly === undefined) throw new Error('no crontab');
  await jobs.add(sql, nightly.job);
  await until('the older one is removed', async (saw) => {
    const [left] = saw(
      await sql<{ count: number }[]>`
      select count(*)::integer as count from idempotency_keys where tenant_id = ${tenant_id}`,
    );
    return left?.count === 1;
  });
});
