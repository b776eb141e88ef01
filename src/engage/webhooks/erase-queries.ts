import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ErasedPerson, Eraser } from '../../players/dependents.ts';
import { eraseAuditRowsOf } from '../../tenants/audit/erase-queries.ts';

function isTheirs(tx: Tx, { tenant_id, project_id, player_ids }: ErasedPerson) {
  return tx`d.player_id = any(${plainArray(player_ids)}::text::uuid[]) and d.tenant_id = ${tenant_id}
    and d.project_id = ${project_id}`;
}

/**
 * What webhooks said of the person, and what was answered. What waits for a run is waited for; what waits for a subscription is
 * withheld: its receiver may be away for days.
 */
export const deliveryEraser: Eraser = {
  step: 'webhook_deliveries',
  async erase(tx, person, limit) {
    const withheld = await tx`
      update webhook_deliveries e
      set status = 'cancelled', completed_at = now(), payload = null, response = null,
        last_error = null, last_reason = null
      from (
        select d.event_id from webhook_deliveries d
        where ${isTheirs(tx, person)} and d.status = 'pending' and d.subscription_id is not null
        limit ${limit}) f
      where e.event_id = f.event_id and e.tenant_id = ${person.tenant_id} and e.status = 'pending'`;
    const { count } = await tx`
      update webhook_deliveries e
      set source = null, payload = null, response = null, last_error = null, last_reason = null
      from (
        select d.event_id from webhook_deliveries d
        where ${isTheirs(tx, person)} and d.status <> 'pending'
          and (d.source is not null or d.payload is not null or d.response is not null or d.last_error is not null
            or d.last_reason is not null)
        limit ${limit}) f
      where e.event_id = f.event_id and e.tenant_id = ${person.tenant_id}`;
    const ids = tx`select d.event_id::text as resource_id from webhook_deliveries d where ${isTheirs(tx, person)}`;
    return withheld.count + count + (await eraseAuditRowsOf(tx, person, ids, limit));
  },
  async inUse(tx, person) {
    const [row] = await tx<{ deliveries: number }[]>`
      select count(*)::integer as deliveries from webhook_deliveries d
      where ${isTheirs(tx, person)} and d.status = 'pending'`;
    return row?.deliveries ?? 0;
  },
};
