import type { MemberRow } from './queries.ts';

/** A member as the audit log shows it. */
export function imageOf({ user_id, role, accepted_at }: MemberRow) {
  return { user_id, role, status: statusOf({ accepted_at }) };
}

/** `invited` until the user accepts. */
export function statusOf({ accepted_at }: Pick<MemberRow, 'accepted_at'>): 'invited' | 'active' {
  return accepted_at === null ? 'invited' : 'active';
}

/** The member resource. */
export function memberResourceOf(row: MemberRow) {
  return { ...imageOf(row), created_at: row.created_at };
}
