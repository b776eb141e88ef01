import type { z } from 'zod';
import type { AuditRow } from './queries.ts';
import type { auditLogEntry } from './schema.ts';
import { parseExact } from '../../platform/exact-json.ts';

/** A row of the audit log as lists show it. */
export function entryOf(row: AuditRow): z.infer<typeof auditLogEntry> {
  const { user_id, role } = row;
  const actor =
    user_id === null || role === null
      ? ({ kind: 'internal' } as const)
      : ({ kind: 'session', user_id, role } as const);
  return {
    id: row.audit_id,
    occurred_at: row.occurred_at.toISOString(),
    actor,
    project_id: row.project_id,
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    before: sideOf(row.before),
    after: sideOf(row.after),
    request_id: row.request_id,
  };
}

function sideOf(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (parseExact(text) as Record<string, unknown>);
}
