import type { Role } from '../../http/auth/roles.ts';
import { MEMBERSHIPS_CHANNEL, type SessionPrincipal } from '../../http/auth/session.ts';
import { ApiError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { deleteMembership, lockOwners } from '../queries.ts';
import { insertMember, lockMember, updateMember, type MemberRow } from './queries.ts';
import type { MemberBody } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

export interface MemberDeps extends Pick<Platform, 'postgres' | 'clock'> {
  notifications: Notifications;
  /** Forgets what this process knows of the memberships of a user; called after the commit. */
  evict: (user_id: string) => void;
}

type Deps = MemberDeps & Auditing;

/** What a change makes of a member: the row before and after it; null: no member. */
type Sides = { before: MemberRow | null; after: MemberRow } | { before: MemberRow; after: null };

/**
 * Invites a user, who becomes a member by accepting. The answer does not show whether the user belongs to another operator. Rejects with CONFLICT when the user is invited or a member already, FORBIDDEN when no owner makes an owner.
 */
export async function addMember(deps: Deps, caller: SessionPrincipal, body: MemberBody): Promise<MemberRow> {
  const now = new Date(deps.clock.now_ms());
  return change(deps, caller, body.user_id, async (tx, owners) => {
    requireMay(caller, owners, [body.role]);
    const after = await insertMember(tx, caller.tenant_id, body, now);
    if (after === undefined)
      throw new ApiError('CONFLICT', 'the user is a member or invited already: change the role');
    return { before: null, after };
  });
}

/** Gives a member another role. Rejects with NOT_FOUND, FORBIDDEN, and CONFLICT for the last owner. */
export async function changeMember(
  deps: Deps,
  caller: SessionPrincipal,
  body: MemberBody,
): Promise<MemberRow> {
  return change(deps, caller, body.user_id, async (tx, owners) => {
    const before = await requireMember(tx, caller.tenant_id, body.user_id);
    requireMay(caller, owners, [before.role, body.role]);
    if (body.role !== 'owner') requireOtherOwner(owners, body.user_id);
    await updateMember(tx, caller.tenant_id, body);
    return { before, after: { ...before, role: body.role } };
  });
}

/** Ends a membership. Rejects with NOT_FOUND, FORBIDDEN, and CONFLICT for the last owner. */
export async function removeMember(
  deps: Deps,
  caller: SessionPrincipal,
  user_id: string,
): Promise<MemberRow> {
  return change(deps, caller, user_id, async (tx, owners) => {
    const before = await requireMember(tx, caller.tenant_id, user_id);
    requireMay(caller, owners, [before.role]);
    requireOtherOwner(owners, user_id);
    await deleteMembership(tx, caller.tenant_id, user_id);
    return { before, after: null };
  });
}

/** Runs one change with the owners locked, so that two of them do not each leave the other as the last owner. */
async function change(
  deps: Deps,
  { tenant_id }: SessionPrincipal,
  user_id: string,
  work: (tx: Tx, owners: readonly string[]) => Promise<Sides>,
): Promise<MemberRow> {
  return changeMembership(deps, { tenant_id, user_id }, async (tx) =>
    work(tx, await lockOwners(tx, tenant_id)),
  );
}

/** Runs a change of a membership, which others hear of and the audit log records; returns the row after it, or before. */
export async function changeMembership(
  { postgres, notifications, evict, audit }: Deps,
  { tenant_id, user_id }: { tenant_id: string; user_id: string },
  work: (tx: Tx) => Promise<Sides>,
): Promise<MemberRow> {
  const row = await postgres.asTenant(tenant_id, async (tx) => {
    const { before, after } = await work(tx);
    const sides = { before: before && imageOf(before), after: after && imageOf(after) };
    await Promise.all([
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, user_id),
      audit(tx, { tenant_id, project_id: null, resource_id: user_id, ...sides }),
    ]);
    return after ?? before;
  });
  evict(user_id);
  return row;
}

async function requireMember(tx: Tx, tenant_id: string, user_id: string): Promise<MemberRow> {
  const row = await lockMember(tx, tenant_id, user_id);
  if (row === undefined) throw new ApiError('NOT_FOUND', 'the user is not a member of this tenant');
  return row;
}

/** Only owners make owners and change them: an admin could take a tenant over otherwise. */
function requireMay({ user_id }: SessionPrincipal, owners: readonly string[], roles: readonly Role[]): void {
  if (!roles.includes('owner') || owners.includes(user_id)) return;
  throw new ApiError('FORBIDDEN', 'only an owner may make, change or remove an owner');
}

function requireOtherOwner(owners: readonly string[], user_id: string): void {
  if (owners.length !== 1 || owners[0] !== user_id) return;
  throw new ApiError('CONFLICT', 'this is the last owner of the tenant: make another member an owner first');
}

/** A member as the audit log shows it. */
export function imageOf({ user_id, role, accepted_at }: MemberRow) {
  return { user_id, role, status: statusOf({ accepted_at }) };
}

/** `invited` until the user accepts. */
function statusOf({ accepted_at }: Pick<MemberRow, 'accepted_at'>): 'invited' | 'active' {
  return accepted_at === null ? 'invited' : 'active';
}

/** The member resource. */
export function memberResourceOf(row: MemberRow) {
  return { ...imageOf(row), created_at: row.created_at };
}
