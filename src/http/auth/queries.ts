import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { KeyClient } from './key-clients.ts';
import type { Role } from './roles.ts';

/**
 * The kinds of API keys: `server` may send everything, and is kept on the tenant's servers; `client` may be public in a
 * page or an app, and sends only what anybody may say.
 */
export const API_KEY_KINDS = ['server', 'client'] as const;
export type ApiKeyKind = (typeof API_KEY_KINDS)[number];

/** The columns of an API key that a check needs. Rates are null when the deployment's default applies. */
export interface StoredKey {
  public_id: string;
  tenant_id: string;
  project_id: string;
  key_id: string;
  environment: string;
  secret_hash: Buffer;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  kind: ApiKeyKind;
  allowed_origins: string[];
  /** Null: the key has no end. */
  expires_at: Date | null;
  /** Encrypted; null unless the key is a client key. */
  client_secret: Buffer | null;
}

/** A user's role in one tenant. */
export interface Membership {
  tenant_id: string;
  role: Role;
  /** False: the user was invited, and is not a member yet. */
  is_accepted: boolean;
}

/** The keys with these public ids that are not revoked. They are searched in all tenants: a key names its tenant. */
export async function findKeysByPublicId(sql: Tx, public_ids: readonly string[]): Promise<StoredKey[]> {
  return sql<StoredKey[]>`
    select k.public_id, k.tenant_id, k.project_id, k.key_id, k.environment, k.secret_hash, k.ingest_per_minute,
      k.ingest_burst, k.kind, k.allowed_origins, k.expires_at, k.client_secret
    from unnest(${textArray(public_ids)}::text::text[]) as wanted (public_id)
    cross join lateral (
      select * from api_keys a where a.public_id = wanted.public_id and a.deleted_at is null offset 0) k`;
}

/** When a kind of client used a key last. */
export interface KeyUse {
  tenant_id: string;
  key_id: string;
  /** Absent: not known. */
  client?: KeyClient | undefined;
  at_ms: number;
}

/**
 * Stores when the keys were used, at all and by each kind of client. Those that are used later already stay untouched, so that
 * several processes write one row once a minute at most each. The rows are locked in the order of their ids, so that no
 * two such statements block each other.
 */
export async function touchKeys(tx: Tx, uses: readonly KeyUse[]): Promise<void> {
  const rows = uses.map((use) => ({ ...use, client: use.client ?? 'other' }));
  await tx`
    with wanted as (
      select tenant_id, key_id, to_timestamp(max(at_ms) / 1000.0) as used_at, jsonb_object_agg(client, at_ms) as by_client
      from (
        select u.tenant_id, u.key_id, u.client, max(u.at_ms) as at_ms
        from ${rowsOf(tx, 'u', rows, { tenant_id: 'uuid', key_id: 'uuid', client: 'text', at_ms: 'bigint' })}
        group by u.tenant_id, u.key_id, u.client) u
      group by tenant_id, key_id),
    locked as (
      select k.tenant_id, k.key_id, w.used_at, w.by_client
      from wanted w join api_keys k on k.tenant_id = w.tenant_id and k.key_id = w.key_id
      where exists (
        select from jsonb_each_text(w.by_client) as used (client, at_ms)
        where coalesce((k.client_uses ->> used.client)::bigint, -1) < used.at_ms::bigint)
      order by k.tenant_id, k.key_id
      for no key update of k)
    update api_keys k set
      last_used_at = greatest(k.last_used_at, l.used_at),
      client_uses = (
        select jsonb_object_agg(client, at_ms) from (
          select client, max(at_ms::bigint) as at_ms
          from (select * from jsonb_each_text(k.client_uses) union all select * from jsonb_each_text(l.by_client))
            as used (client, at_ms)
          group by client) latest)
    from locked l
    where k.tenant_id = l.tenant_id and k.key_id = l.key_id`;
}

/** The user's memberships and invitations in all tenants, oldest first: the membership names the tenant. */
export async function findMemberships(sql: Tx, user_id: string): Promise<Membership[]> {
  return sql<Membership[]>`
    select tenant_id, role, accepted_at is not null as is_accepted
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
