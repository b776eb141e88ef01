import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { listOf } from '../../http/keyset-page.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { entryOf, auditLogEntry, auditLogQuery } from './schema.ts';
import { listAuditRows } from './queries.ts';

/** The audit log: the changes in a tenant, with their actors. */
export function auditLogEndpoints({ postgres }: { postgres: Postgres }): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/audit-log',
      summary: 'Lists the changes by sessions and the internal secret in the tenant, the newest first',
      access: { mode: 'session', role: 'compliance', scope: 'tenant' },
      query: auditLogQuery,
      response: z.array(auditLogEntry),
      shape: 'list',
      handle: ({ caller: { tenant_id }, query }) =>
        listOf(postgres, { tenant_id }, query, {
          kind: 'audit-log',
          select: (tx, after, limit, filters) => listAuditRows(tx, tenant_id, filters, after, limit),
          positionOf: (row) => [row.occurred_us, row.audit_id],
          show: entryOf,
        }),
    }),
  ];
}
