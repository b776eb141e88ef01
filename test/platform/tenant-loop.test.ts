import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { RoundRobin } from '../../src/platform/round-robin.ts';
import { startTenantLoop } from '../../src/platform/tenant-loop.ts';
import type { TestPostgres } from '../engines/shared-postgres.ts';
import { until } from '../engines/until.ts';
import { openTestPostgres } from '../engines/wiring.ts';

let engine: TestPostgres;
let sql: Db;
beforeAll(async () => {
  engine = await openTestPostgres();
  sql = connectPool(engine.url);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await engine?.close();
});

it('a place that becomes free is taken at once after the last page of tenants, too', async () => {
  await sql`create table tenant_work (tenant_id uuid primary key)`;
  await sql`insert into tenant_work select gen_random_uuid() from generate_series(1, 1000)`;
  const platform = {
    postgres: { service: sql },
    clock: systemClock,
    logger: createLogger('silent'),
    workWatch: { watch: () => ({ untilFound: async () => undefined }) },
  } as unknown as Platform;
  const offered = vi.spyOn(RoundRobin.prototype, 'offer');
  const served: ((worked: boolean) => void)[] = [];
  let is_over = false;
  const serve = () =>
    new Promise<boolean>((resolve) => (is_over ? resolve(false) : void served.push(resolve)));
  const loop = startTenantLoop(platform, { name: 'loop', table: 'tenant_work', max_running: 2, serve });
  await until((saw) => saw(served.length) === 2);
  // The loop looks again, behind the last of the thousand.
  served[0]?.(true);
  await until((saw) => saw(offered.mock.calls.length) === 2);
  expect(served).toHaveLength(3);
  // Nothing wakes the loop.
  served[1]?.(false);
  await new Promise(setImmediate);
  expect(served).toHaveLength(4);
  is_over = true;
  for (const end of served) end(false);
  await loop.close();
  offered.mockRestore();
});
