import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { listRejections } from './queries.ts';
import { rejectedEvent, rejectedEventOf } from './schema.ts';

/** What intake refused to a project, which the console shows under Events › Rejected. */
export function rejectedEventEndpoints({ postgres }: { postgres: Postgres }): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/rejected-events',
      summary:
        'Events and requests of the last 7 days that intake refused, by cause and day, the latest first',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: z.strictObject(PAGE_QUERY),
      response: z.array(rejectedEvent),
      shape: 'list',
      handle: ({ caller, query }) =>
        listOf(postgres, projectRefOf(caller), query, {
          kind: 'rejected-events',
          select: (tx, after, limit) => listRejections(tx, projectRefOf(caller), after, limit),
          positionOf: (row) => [row.last_us, row.rejection_key],
          show: rejectedEventOf,
        }),
    }),
  ];
}
