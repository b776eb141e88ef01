import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { LARGE_BODY_BYTES } from '../../http/server-options.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { TenantBulkhead } from '../tenant-bulkhead.ts';
import { backtest } from './backtest.ts';
import { backtestBody, backtestResult } from './schema.ts';

/** `POST /v1/segments/backtest`. */
export function backtestEndpoints(deps: Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>): AnyEndpoint[] {
  const turns = new TenantBulkhead('test segments on the past', 1);
  return [
    endpoint({
      method: 'POST',
      path: '/v1/segments/backtest',
      load: 'elsewhere',
      summary: 'Who would have been a member at a time of the past, and what these players did after it',
      audit: { none: 'it changes nothing' },
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      body: backtestBody,
      max_body_bytes: LARGE_BODY_BYTES,
      response: backtestResult,
      errors: ['SEGMENT_DEFINITION_INVALID', 'SEGMENT_TOO_EXPENSIVE'],
      handle: async ({ caller, body }) =>
        envelope(await turns.run(caller.tenant_id, () => backtest(deps, projectRefOf(caller), body))),
    }),
  ];
}
