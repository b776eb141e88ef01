import { startTestService } from '../../test/engines/embedded.ts';
import { serve } from '../child.ts';
import { openBenchPlatform } from '../platform.ts';

// The service's API and intake, with the processors standing still: what is measured is the way in.
const service = await startTestService({ roles: new Set(['api', 'intake']) }, openBenchPlatform);
const { api_key, session_token, base_url, ingest_url, tenant_id, project_id } = service;
const ready = { api_key, session_token, base_url, ingest_url, tenant_id, project_id };
serve(Number(new URL(ingest_url).port), ready, () => service.close());
