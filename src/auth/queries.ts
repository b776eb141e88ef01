import type { Tx } from '../platform/postgres/port.ts';
import type { Role } from './roles.ts';

/** The columns of an API key that a check needs. Rates are null when the deployment's default applies. */
export interface StoredKey {
  tenant_id: string;
  project_id: string;
  key_id: string;
  environment: string;
  secret_hash: Buffer;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
}

/** A user's role in one tenant. */
export interface Membership {
  tenant_id: string;
  role: Role;
}

/** The key with this public id that is not revoked. It is searched in all tenants, because the key names the tenant. */
export async function findKeyByPublicId(sql: Tx, public_id: string): Promise<StoredKey | undefined> {
  const rows = await sql<StoredKey[]>`
    select tenant_id, project_id, key_id, environment, secret_hash, ingest_per_minute, ingest_burst
    from api_keys
    where public_id = ${public_id} and deleted_at is null`;
  return rows[0];
}

/** The user's memberships in all tenants, oldest first: the membership names the tenant. */
export async function findMemberships(sql: Tx, user_id: string): Promise<Membership[]> {
  return sql<Membership[]>`
    select tenant_id, role
    from memberships
    where user_id = ${user_id}
    order by created_at, tenant_id`;
}

/** Whether the project belongs to the tenant. */
export async function projectExists(sql: Tx, tenant_id: string, project_id: string): Promise<boolean> {
  const rows = await sql`
    select from projects
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return rows.length > 0;
}

/** The tenant's oldest project; undefined when it has none. */
export async function findOldestProject(sql: Tx, tenant_id: string): Promise<string | undefined> {
  const rows = await sql<{ project_id: string }[]>`
    select project_id
    from projects
    where tenant_id = ${tenant_id}
    order by created_at, project_id
    limit 1`;
  return rows[0]?.project_id;
}
