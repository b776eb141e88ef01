import type { WriteAuditRows } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import { changedFields } from './changed-fields.ts';
import { insertAuditRows } from './queries.ts';

/** Makes the function that inserts rows of the audit log, with one statement in the transaction of the changes. */
export function createAuditWriter(clock: Clock): WriteAuditRows {
  return async (tx, changes) => {
    const rows = changes.flatMap(({ call: { session, resource, action, request_id }, change }) => {
      const sides = changedFields(change);
      if (sides === undefined) return [];
      return [
        {
          tenant_id: change.tenant_id,
          audit_id: newId(),
          occurred_at: new Date(clock.now_ms()),
          user_id: session?.user_id ?? null,
          role: session?.role ?? null,
          project_id: change.project_id,
          action,
          resource_type: resource,
          resource_id: change.resource_id,
          ...sides,
          request_id,
        },
      ];
    });
    if (rows.length > 0) await insertAuditRows(tx, rows);
  };
}
