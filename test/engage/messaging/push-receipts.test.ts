import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertReceipts } from '../../../src/engage/messaging/push-receipt-queries.ts';
import { writeReceipts } from '../../../src/engage/messaging/push-feedback.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { startTenantLoop } from '../../../src/platform/tenant-loop.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

let server: TestPostgres;
let sql: Db;
beforeAll(async () => {
  server = await openTestPostgres({ prepared: true });
  sql = connectPool(server.url);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await server?.close();
});

const TENANTS = Array.from({ length: 9 }, (_, i) => `00000000-0000-4000-8000-00000000000${i + 1}`);

it('takes tenants in turn, whatever the busy ones among them add meanwhile', async () => {
  const report = (tenant_id: string) => {
    const [project_id, player_id, send_id] = [tenant_id, crypto.randomUUID(), crypto.randomUUID()];
    return { tenant_id, project_id, player_id, send_id, step: 'opened' as const, at_ms: 0 };
  };
  await insertReceipts(sql, TENANTS.map(report));
  const platform = {
    postgres: { service: sql },
    clock: systemClock,
    logger: createLogger('silent'),
    workWatch: { watch: () => ({ untilFound: async () => undefined }) },
  } as unknown as Platform;
  const busy = TENANTS.slice(0, 5);
  const calm = TENANTS.slice(5);
  const loop = startTenantLoop(platform, {
    name: 'push-receipts',
    table: 'push_receipts',
    max_running: 4,
    serve: async (tenant_id) => {
      const worked = await writeReceipts(platform, tenant_id);
      if (busy.includes(tenant_id)) await insertReceipts(sql, [report(tenant_id)]);
      return worked;
    },
  });
  await until(async (saw) => {
    const waiting = await sql<{ tenant_id: string }[]>`select distinct tenant_id from push_receipts`;
    return !saw(waiting).some(({ tenant_id }) => calm.includes(tenant_id));
  });
  await loop.close();
  const left = await sql<{ tenant_id: string }[]>`select distinct tenant_id from push_receipts order by 1`;
  expect(left.map(({ tenant_id }) => tenant_id)).toEqual(busy);
});
