import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../../http/keyset-page.ts';
import type { TimePosition } from '../../platform/postgres/keyset.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { entryOf } from './audit-json.ts';
import { listAuditRows, type ListedAuditRow } from './queries.ts';
import { auditLogEntry, auditLogQuery, type AuditLogQuery } from './schema.ts';

/** The audit log: the changes in a tenant, with their actors. */
export function auditLogEndpoints({ postgres }: { postgres: Postgres }): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/audit-log',
      summary: 'Lists the changes by sessions and the internal secret in the tenant, the newest first',
      access: { mode: 'session', role: 'compliance', scope: 'tenant' },
      query: auditLogQuery,
      status: 200,
      response: z.array(auditLogEntry),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => auditPage(postgres, caller.tenant_id, query),
    }),
  ];
}

async function auditPage(
  postgres: Postgres,
  tenant_id: string,
  { cursor, limit, ...filters }: AuditLogQuery,
): Promise<string> {
  const { rows, next_cursor } = await readPage<ListedAuditRow, TimePosition>(
    {
      // The list belongs to the tenant, not to a project: the cursor is bound to the tenant's id instead.
      scope: { kind: 'audit-log', project_id: tenant_id, filters },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.occurred_us), row.audit_id],
      select: (after, count) =>
        postgres.readAsTenant(tenant_id, (tx) => listAuditRows(tx, tenant_id, filters, after, count)),
    },
    { cursor, limit },
  );
  return envelope(rows.map(entryOf), { next_cursor });
}
