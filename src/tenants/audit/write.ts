import type { WriteAuditRow } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import { changedFields } from './changed-fields.ts';
import { insertAuditRow } from './queries.ts';

/** Makes the function that inserts a row of the audit log, with one statement in the transaction of the change. */
export function createAuditWriter(clock: Clock): WriteAuditRow {
  return async (tx, { session, resource, action, request_id }, change) => {
    const sides = changedFields(change);
    if (sides === undefined) return;
    await insertAuditRow(tx, {
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
    });
  };
}
