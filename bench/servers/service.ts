import { ROLES } from '../../src/config.ts';
import { startTestService } from '../../test/engines/service.ts';
import { serve } from '../child.ts';
import { openBenchPlatform, postgresUrlOf } from '../platform.ts';

// The service with every role (BENCH_ROLES=all), or with the roles api and intake only, to measure intake.
const roles = process.env['BENCH_ROLES'] === 'all' ? ROLES : (['api', 'intake'] as const);
const trusted_proxies = process.env['BENCH_TRUSTED_PROXIES']?.split(',') ?? [];
const service = await startTestService({ roles: new Set(roles), trusted_proxies }, openBenchPlatform);
const { api_key, session_token, base_url, ingest_url, tenant_id, project_id, platform } = service;
const postgres_url = postgresUrlOf(platform);
const ready = { api_key, session_token, base_url, ingest_url, tenant_id, project_id, postgres_url };
serve(Number(new URL(ingest_url).port), ready, () => service.close());
