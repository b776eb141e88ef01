import { readConfig, ROLES } from '../../src/config.ts';
import { startTestService } from '../../test/engines/service.ts';
import { serve } from '../child.ts';
import { openBenchPlatform, postgresUrlOf } from '../platform.ts';

// The service with every role in one process, as `npm start` runs it, with the rate limits that an installation has by
// default, and one more tenant for each name in NEIGHBOURS_TENANTS.
const { rates } = readConfig({});
const log_level = process.env['NEIGHBOURS_LOG_LEVEL'] ?? 'silent';
const service = await startTestService({ roles: new Set(ROLES), rates, log_level }, openBenchPlatform);
const names = (process.env['NEIGHBOURS_TENANTS'] ?? '').split(',').filter((name) => name !== '');
const tenants: Record<string, unknown> = {};
for (const name of names) tenants[name] = await service.newTenant();
const { base_url, ingest_url, platform } = service;
const ready = {
  base_url,
  ingest_url,
  tenants: JSON.stringify(tenants),
  postgres_url: postgresUrlOf(platform),
};
serve(Number(new URL(ingest_url).port), ready, () => service.close());
