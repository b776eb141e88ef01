import type { Role } from '../../auth/roles.ts';
import { microseconds, type Listed, type PageOf, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';

/** A member of a tenant. */
export interface MemberRow {
  user_id: string;
  role: Role;
  created_at: Date;
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
    select user_id, role, created_at, md5(user_id)::uuid::text as mark, ${microseconds(tx, 'created_at')} as created_us
    from memberships where tenant_id = ${tenant_id} ${beyond}
    order by created_at desc, md5(user_id)::uuid desc limit ${limit}`;
}

/** Whether the user is a member of another tenant; `sql` has to see all tenants. */
export async function isMemberElsewhere(sql: Db, tenant_id: string, user_id: string): Promise<boolean> {
  const rows = await sql`
    select from memberships where user_id = ${user_id} and tenant_id <> ${tenant_id} limit 1`;
  return rows.length > 0;
}

/** The member, locked until the transaction ends. */
export async function lockMember(tx: Tx, tenant_id: string, user_id: string): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    select user_id, role, created_at from memberships
    where tenant_id = ${tenant_id} and user_id = ${user_id} for update`;
  return row;
}

/** Adds a member; undefined when the user is one already. */
export async function insertMember(
  tx: Tx,
  tenant_id: string,
  { user_id, role }: { user_id: string; role: Role },
  now: Date,
): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    insert into memberships (tenant_id, user_id, role, created_at) values (${tenant_id}, ${user_id}, ${role}, ${now})
    on conflict do nothing
    returning user_id, role, created_at`;
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
