import type { Role } from '../../http/auth/roles.ts';
import { microseconds, type Listed, type PageOf, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** A member of a tenant. */
export interface MemberRow {
  user_id: string;
  role: Role;
  created_at: Date;
  /** Null: the user was invited, and has not accepted. */
  accepted_at: Date | null;
}

/** A member in a list; `mark` stands for the user id in positions, because ids may be long. */
export type ListedMember = Listed<MemberRow> & { mark: string };

/** A page of the members of the tenant, the newest first. A tenant has few, so they are sorted. */
export function listMembers(
  tx: Tx,
  tenant_id: string,
  after: TimePosition | undefined,
  limit: number,
): PageOf<MemberRow & { mark: string }> {
  const [time_us, mark] = after ?? [];
  const beyond =
    after === undefined
      ? tx``
      : tx`and (created_at, md5(user_id)::uuid) <
          ('epoch'::timestamptz + ${time_us ?? ''}::bigint * interval '1 microsecond', ${mark ?? ''}::uuid)`;
  return tx<ListedMember[]>`
    select user_id, role, created_at, accepted_at, md5(user_id)::uuid::text as mark, ${microseconds(tx, 'created_at')} as created_us
    from memberships where tenant_id = ${tenant_id} ${beyond}
    order by created_at desc, md5(user_id)::uuid desc limit ${limit}`;
}

/** The member, locked until the transaction ends. */
export async function lockMember(tx: Tx, tenant_id: string, user_id: string): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    select user_id, role, created_at, accepted_at from memberships
    where tenant_id = ${tenant_id} and user_id = ${user_id} for update`;
  return row;
}

/** Invites a user; undefined when the user is invited, or a member, already. */
export async function insertMember(
  tx: Tx,
  tenant_id: string,
  { user_id, role }: { user_id: string; role: Role },
  now: Date,
): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    insert into memberships (tenant_id, user_id, role, created_at, accepted_at)
    values (${tenant_id}, ${user_id}, ${role}, ${now}, null)
    on conflict do nothing
    returning user_id, role, created_at, accepted_at`;
  return row;
}

/** Makes an invited user a member. */
export async function acceptMember(
  tx: Tx,
  { tenant_id, user_id }: { tenant_id: string; user_id: string },
  accepted_at: Date,
): Promise<void> {
  await tx`
    update memberships set accepted_at = ${accepted_at} where tenant_id = ${tenant_id} and user_id = ${user_id}`;
}

/**
 * Accepts the only invitation of a user in any tenant; undefined when it is accepted, or there is another membership or
 * invitation, by now.
 */
export async function acceptOnly(
  sql: Tx,
  { tenant_id, user_id }: { tenant_id: string; user_id: string },
  accepted_at: Date,
): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`
    update memberships m set accepted_at = ${accepted_at}
    where m.tenant_id = ${tenant_id} and m.user_id = ${user_id} and m.accepted_at is null
      and not exists (select from memberships o where o.user_id = m.user_id and o.tenant_id <> m.tenant_id)
    returning m.user_id, m.role, m.created_at, m.accepted_at`;
  return row;
}

/** Gives a member another role. */
export async function updateMember(
  tx: Tx,
  tenant_id: string,
  { user_id, role }: { user_id: string; role: Role },
): Promise<void> {
  await tx`update memberships set role = ${role} where tenant_id = ${tenant_id} and user_id = ${user_id}`;
}
