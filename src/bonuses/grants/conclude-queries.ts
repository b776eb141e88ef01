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
  | 'cancel_requested_at'
  | 'cancel_reason'
  | 'is_protection_seen'
>;

/** Writes the end of a call of a locked grant; returns the row as it is then. */
export async function updateCall(tx: Tx, ref: GrantRef, change: CallChange, now: Date): Promise<GrantRow> {
  const last_error = change.last_error === null ? null : JSON.stringify(change.last_error);
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set
      outcome = ${change.outcome}, may_be_sent = ${change.may_be_sent}, needs_review = ${change.needs_review},
      last_error = ${last_error}::text::jsonb, attempts = ${change.attempts},
      next_attempt_at = ${change.next_attempt_at}, cancel_requested_at = ${change.cancel_requested_at},
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
