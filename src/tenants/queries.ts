import type { PendingQuery } from 'postgres';
import type { Role } from '../http/auth/roles.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import type { CatalogueCurrency } from './currency-catalogue.ts';
import type { MembershipBody } from './schema.ts';
import type { ProjectRef } from './project-ref.ts';

interface NewTenant {
  tenant_id: string;
  name: string;
  base_currency: string;
}

interface NewProject extends ProjectRef {
  name: string;
}

export async function insertTenant(sql: Tx, { tenant_id, name, base_currency }: NewTenant): Promise<void> {
  await sql`
    insert into tenants (tenant_id, name, base_currency)
    values (${tenant_id}, ${name}, ${base_currency})`;
}

/** Inserts a project. False when the tenant does not exist. */
export async function insertProject(sql: Tx, { tenant_id, project_id, name }: NewProject): Promise<boolean> {
  const rows = await sql`
    insert into projects (tenant_id, project_id, name, created_at)
    select tenant_id, ${project_id}, ${name}, clock_timestamp()
    from tenants
    where tenant_id = ${tenant_id}
    returning project_id`;
  return rows.length > 0;
}

export async function insertCurrencies(
  sql: Tx,
  tenant_id: string,
  currencies: readonly CatalogueCurrency[],
): Promise<void> {
  await sql`
    insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
    select ${tenant_id}, code, kind, scale, symbol, display_name
    from ${rowsOf(sql, 't', currencies, {
      code: 'text',
      kind: 'text',
      scale: 'smallint',
      symbol: 'text',
      display_name: 'text',
    })}`;
}

/** Adds a member, or changes a member's role. False when the tenant does not exist. */
export async function upsertMembership(sql: Tx, membership: MembershipBody): Promise<boolean> {
  const { tenant_id, user_id, role } = membership;
  const rows = await sql`
    insert into memberships (tenant_id, user_id, role)
    select tenant_id, ${user_id}, ${role}
    from tenants
    where tenant_id = ${tenant_id}
    on conflict (tenant_id, user_id) do update
      set role = excluded.role, accepted_at = coalesce(memberships.accepted_at, excluded.accepted_at)
    returning tenant_id`;
  return rows.length > 0;
}

/** Whether the tenant exists. */
export async function tenantExists(sql: Tx, tenant_id: string): Promise<boolean> {
  return (await sql`select from tenants where tenant_id = ${tenant_id}`).length > 0;
}

/** The tenant's owners; the rows are locked until the transaction ends, so two removals of owners run one by one. */
export async function lockOwners(tx: Tx, tenant_id: string): Promise<string[]> {
  // Always in this order, so that two removals do not deadlock.
  const rows = await tx<{ user_id: string }[]>`
    select user_id
    from memberships
    where tenant_id = ${tenant_id} and role = 'owner' and accepted_at is not null
    order by user_id
    for update`;
  return rows.map(({ user_id }) => user_id);
}

/** The member's role; the row is locked until the transaction ends; undefined when there is no such member. */
export async function lockMembership(tx: Tx, tenant_id: string, user_id: string): Promise<Role | undefined> {
  const rows = await tx<{ role: Role }[]>`
    select role from memberships where tenant_id = ${tenant_id} and user_id = ${user_id} for update`;
  return rows[0]?.role;
}

/** Removes a member; returns the role that the member had, undefined when there was no such member. */
export async function deleteMembership(
  sql: Tx,
  tenant_id: string,
  user_id: string,
): Promise<Role | undefined> {
  const rows = await sql<{ role: Role }[]>`
    delete from memberships where tenant_id = ${tenant_id} and user_id = ${user_id} returning role`;
  return rows[0]?.role;
}

/** The name of the tenant; no row when it does not exist. */
export function selectTenantName(tx: Tx, tenant_id: string): PendingQuery<{ name: string }[]> {
  return tx<{ name: string }[]>`select name from tenants where tenant_id = ${tenant_id}`;
}

/** The currencies of a tenant. */
export interface TenantMoney {
  base_currency: string;
  /** Codes of the active currencies of the catalogue. */
  currencies: ReadonlySet<string>;
}

/** The currencies of a tenant; undefined when the tenant does not exist. */
export async function findTenantMoney(sql: Tx, tenant_id: string): Promise<TenantMoney | undefined> {
  const [row] = await sql<{ base_currency: string; codes: string[] }[]>`
    select base_currency,
      array(select code from currencies c where c.tenant_id = t.tenant_id and c.is_active) as codes
    from tenants t where t.tenant_id = ${tenant_id}`;
  return row === undefined ? undefined : { base_currency: row.base_currency, currencies: new Set(row.codes) };
}
