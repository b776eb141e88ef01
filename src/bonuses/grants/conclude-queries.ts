import type { Tx } from '../../platform/postgres/port.ts';
import { grantColumns, isGrant } from './queries.ts';
import type { GrantRef, GrantRow } from './grant-row.ts';

/** The columns that the end of a call changes, beside those of an event. */
export type CallChange = Pick<
  GrantRow,
  | 'outcome'
  | 'may_be_sent'
  | 'needs_review'
  | 'last_error'
  | 'attempts'
  | 'next_attempt_at'
  | 'put_off_to'
  | 'cancel_requested_at'
  | 'cancel_reason'
  | 'is_protection_seen'
>;

/**
 * Writes the end of a call of a locked grant; returns the row as it is then. Only a grant that a member of a campaign got
 * waits for a share of a rate: one that names a campaign, and is of none of its members, is never put off.
 */
export async function updateCall(tx: Tx, ref: GrantRef, change: CallChange, now: Date): Promise<GrantRow> {
  const last_error = change.last_error === null ? null : JSON.stringify(change.last_error);
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set
      outcome = ${change.outcome}, may_be_sent = ${change.may_be_sent}, needs_review = ${change.needs_review},
      last_error = ${last_error}::text::jsonb, attempts = ${change.attempts},
      next_attempt_at = ${change.next_attempt_at},
      put_off_to = case when ${change.put_off_to}::timestamptz is not null and exists (
        select from bonus_campaign_rows r
        where r.grant_id = g.grant_id and r.tenant_id = g.tenant_id and r.project_id = g.project_id)
        then ${change.put_off_to}::timestamptz end,
      cancel_requested_at = ${change.cancel_requested_at},
      cancel_reason = ${change.cancel_reason}, is_protection_seen = ${change.is_protection_seen}, updated_at = ${now}
    where ${isGrant(tx, ref)}
    returning ${grantColumns(tx)}`;
  if (row === undefined) throw new Error(`grant ${ref.grant_id} has vanished`);
  return row;
}

/** Claims a locked grant for a call, which is taken for lost at `lost_at`. */
export async function claimLocked(tx: Tx, grant: GrantRow, lost_at: Date): Promise<GrantRow> {
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set calls = g.calls + 1, next_attempt_at = ${lost_at}
    where ${isGrant(tx, grant)}
    returning ${grantColumns(tx)}`;
  if (row === undefined) throw new Error(`grant ${grant.grant_id} has vanished`);
  return row;
}
