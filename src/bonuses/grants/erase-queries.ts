import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ErasedPerson, Eraser } from '../../players/dependents.ts';
import { eraseAuditRowsOf } from '../../tenants/audit/erase-queries.ts';

/** What an order becomes whose player was erased: it is never sent again. */
const NO_ORDER = '{}';
/** Reasons of the service are codes; a platform may give any text. */
const CODE = '^[A-Z][A-Z0-9_]*$';

function isTheirs(tx: Tx, { tenant_id, project_id, player_ids }: ErasedPerson) {
  return tx`g.player_id = any(${plainArray(player_ids)}::text::uuid[]) and g.tenant_id = ${tenant_id}
    and g.project_id = ${project_id}`;
}

/**
 * Erases the id by which platforms knew the person, and what they and operators wrote. Amounts, terms and statuses stay. A
 * grant that is not decided yet needs its order: the sender ends it soon, because its player is deleted.
 */
export const grantEraser: Eraser = {
  step: 'bonus_grants',
  async erase(tx, person, limit) {
    const { tenant_id, project_id } = person;
    const is_code = tx`coalesce(g.status_reason ~ ${CODE}, true)`;
    const grants = await tx`
      update bonus_grants e
      set player_external_id = '', order_body = ${NO_ORDER}, last_error = null, cancel_reason = null,
        facts = e.facts - 'reason', status_reason = case when e.status_reason ~ ${CODE} then e.status_reason end
      from (
        select g.grant_id from bonus_grants g
        where ${isTheirs(tx, person)} and g.status <> 'pending'
          and (g.player_external_id <> '' or g.order_body <> ${NO_ORDER} or g.last_error is not null
            or g.cancel_reason is not null or g.facts ? 'reason' or not ${is_code})
        limit ${limit}) f
      where e.grant_id = f.grant_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}`;
    const events = await tx`
      update bonus_grant_events e set data = '{}'
      from (
        select g.grant_id, v.seq from bonus_grants g
        join bonus_grant_events v on v.grant_id = g.grant_id and v.tenant_id = g.tenant_id and v.project_id = g.project_id
        where ${isTheirs(tx, person)} and v.data <> '{}' and not v.is_to_publish
        limit ${limit}) f
      where e.grant_id = f.grant_id and e.seq = f.seq and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}`;
    const sent = await tx`
      update sandbox_bonuses b set sent = '{}'
      from bonus_grants g
      where ${isTheirs(tx, person)} and b.tenant_id = g.tenant_id and b.project_id = g.project_id
        and b.grant_id = g.grant_id and b.sent <> '{}'`;
    const ids = tx`select g.grant_id::text as resource_id from bonus_grants g where ${isTheirs(tx, person)}`;
    return grants.count + events.count + sent.count + (await eraseAuditRowsOf(tx, person, ids, limit));
  },
  async inUse(tx, person) {
    const [row] = await tx<{ grants: number }[]>`
      select count(*)::integer as grants from bonus_grants g where ${isTheirs(tx, person)} and g.status = 'pending'`;
    return row?.grants ?? 0;
  },
};
