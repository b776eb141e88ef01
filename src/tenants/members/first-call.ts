import type { AcceptOnly } from '../../http/auth/session.ts';
import type { WriteAuditRows } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { imageOf } from './member-json.ts';
import { acceptOnly } from './queries.ts';

/** Makes what accepts the only invitation of a user by a first call, with its row in the audit log in the same transaction. */
export function firstCallAcceptance(
  { postgres, clock }: { postgres: Postgres; clock: Clock },
  writeAuditRows: WriteAuditRows,
): AcceptOnly {
  // As the service: whether there is an invitation of another tenant is not visible to this one.
  return ({ tenant_id, user_id }, request_id) =>
    postgres.service.begin(async (tx) => {
      const after = await acceptOnly(tx, { tenant_id, user_id }, new Date(clock.now_ms()));
      if (after === undefined) return;
      const session = { user_id, role: after.role };
      const call = { resource: 'membership', action: 'update', session, request_id } as const;
      const before = imageOf({ ...after, accepted_at: null });
      const change = { tenant_id, project_id: null, resource_id: user_id, before, after: imageOf(after) };
      await writeAuditRows(tx, [{ call, change }]);
    });
}
