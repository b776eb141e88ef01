import type { UserPrincipal, AcceptOnly } from '../../http/auth/session.ts';
import { ApiError } from '../../errors.ts';
import type { Auditing, WriteAuditRows } from '../../http/audit.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Tx, Postgres } from '../../platform/postgres/port.ts';
import { deleteMembership, selectTenantName } from '../queries.ts';
import { changeMembership, imageOf, type MemberDeps } from './change.ts';
import { acceptMember, lockMember, type MemberRow, acceptOnly } from './queries.ts';
import type { Clock } from '../../platform/clock.ts';

/** The oldest invitations of a user that are shown. */
const MAX_SHOWN = 50;

/** An operator that wants the user as a member. */
export interface Invitation {
  tenant_id: string;
  tenant_name: string;
  role: MemberRow['role'];
}

/** The invitations of the user, each read as its tenant, so that row-level security holds here, too. */
export function invitationsOf(
  { postgres }: Pick<MemberDeps, 'postgres'>,
  { invitations }: UserPrincipal,
): Promise<Invitation[]> {
  return Promise.all(
    invitations.slice(0, MAX_SHOWN).map(async ({ tenant_id, role }) => {
      const [tenant] = await postgres.readAsTenant(tenant_id, (tx) => selectTenantName(tx, tenant_id));
      return { tenant_id, tenant_name: tenant?.name ?? '', role };
    }),
  );
}

type Deps = MemberDeps & Auditing;

/** Makes the invited user a member. Rejects with NOT_FOUND without an invitation of the tenant. */
export async function acceptInvitation(
  deps: Deps,
  user: UserPrincipal,
  tenant_id: string,
): Promise<MemberRow> {
  return change(deps, user, tenant_id, async (tx, invited) => {
    const accepted_at = new Date(deps.clock.now_ms());
    await acceptMember(tx, { tenant_id, user_id: user.user_id }, accepted_at);
    return { ...invited, accepted_at };
  });
}

/** Ends an invitation. Rejects with NOT_FOUND without an invitation of the tenant. */
export async function declineInvitation(
  deps: Deps,
  user: UserPrincipal,
  tenant_id: string,
): Promise<MemberRow> {
  return change(deps, user, tenant_id, async (tx) => {
    await deleteMembership(tx, tenant_id, user.user_id);
    return null;
  });
}

/** Changes an invitation to what `work` returns; returns the invitation when nothing is left of it. */
async function change(
  deps: Deps,
  { user_id }: UserPrincipal,
  tenant_id: string,
  work: (tx: Tx, invited: MemberRow) => Promise<MemberRow | null>,
): Promise<MemberRow> {
  const none = new ApiError('NOT_FOUND', 'there is no invitation of this tenant: it may have been withdrawn');
  if (!isUuid(tenant_id)) throw none;
  return changeMembership(deps, { tenant_id, user_id }, async (tx) => {
    const invited = await lockMember(tx, tenant_id, user_id);
    if (invited === undefined || invited.accepted_at !== null) throw none;
    return { before: invited, after: await work(tx, invited) };
  });
}

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
