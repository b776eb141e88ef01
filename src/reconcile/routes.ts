import { endpoint, type AnyEndpoint } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import type { Platform } from '../platform/platform.ts';
import { reconcile } from './reconcile.ts';
import { reconcileBody, reconcileReport } from './schema.ts';

/** Checks that the stores agree; `npm run reconcile` calls this endpoint. */
export function reconcileEndpoints(platform: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/internal/reconcile',
      audit: { none: 'it restores what follows from the ledger, which stays' },
      summary:
        'Recomputes every total from the ledger and compares every table of ClickHouse with its source',
      access: { mode: 'internal' },
      body: reconcileBody.prefault({}),
      response: reconcileReport,
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async ({ body }) => envelope(await reconcile(platform, body)),
    }),
  ];
}
