import type { PendingQuery } from 'postgres';
import { textArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { AdapterRef } from './queries.ts';

/** A secret of an adapter as Postgres has it. */
export interface SecretRow extends AdapterRef {
  secret_id: string;
  /** Encrypted. */
  secret: Buffer;
  created_at: Date;
  /** Null: the current one. */
  expires_at: Date | null;
}

function columns(tx: Tx) {
  return tx`s.tenant_id, s.project_id, s.adapter_id, s.secret_id, s.secret, s.created_at, s.expires_at`;
}

/** The secrets of the adapter that are valid at `now`, the current one first. */
export function selectSecrets(
  tx: Tx,
  { tenant_id, project_id, adapter_id }: AdapterRef,
  now: Date,
): PendingQuery<SecretRow[]> {
  return tx<SecretRow[]>`
    select ${columns(tx)} from adapter_secrets s
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.adapter_id = ${adapter_id}
      and (s.expires_at is null or s.expires_at > ${now})
    order by s.expires_at desc nulls first, s.created_at desc`;
}

/** An adapter, and one of its secrets; null: none is valid. */
export type SignerRow = AdapterRef & { slug: string } & (SecretRow | { secret_id: null });

/** The adapters of the slugs, of any tenants, with each secret that is valid at `now`, the current one first. */
export function selectSigners(sql: Tx, slugs: readonly string[], now: Date): PendingQuery<SignerRow[]> {
  return sql<SignerRow[]>`
    select a.slug, a.tenant_id, a.project_id, a.adapter_id, s.secret_id, s.secret, s.created_at, s.expires_at
    from unnest(${textArray(slugs)}::text::text[]) as r (slug)
    cross join lateral (
      select * from adapters a where a.slug = r.slug offset 0) a
    left join lateral (
      select * from adapter_secrets s
      where s.tenant_id = a.tenant_id and s.project_id = a.project_id and s.adapter_id = a.adapter_id
        and (s.expires_at is null or s.expires_at > ${now})
      offset 0) s on true
    order by s.expires_at desc nulls first, s.created_at desc`;
}

/** The current secret of the active adapter of each of these projects that has one. */
export async function selectActiveSecrets(sql: Tx, projects: readonly ProjectRef[]): Promise<SecretRow[]> {
  return sql<SecretRow[]>`
    select ${columns(sql)} from ${rowsOf(sql, 'p', projects, PROJECT_KEY)}
    cross join lateral (
      select a.adapter_id from adapters a
      where a.tenant_id = p.tenant_id and a.project_id = p.project_id and a.is_active
      offset 0) a
    cross join lateral (
      select * from adapter_secrets s
      where s.tenant_id = p.tenant_id and s.project_id = p.project_id and s.adapter_id = a.adapter_id
        and s.expires_at is null
      offset 0) s`;
}

/** Adds the secret. */
export async function insertSecret(tx: Tx, row: SecretRow): Promise<void> {
  await tx`
    insert into adapter_secrets (tenant_id, project_id, adapter_id, secret_id, secret, created_at, expires_at)
    values (${row.tenant_id}, ${row.project_id}, ${row.adapter_id}, ${row.secret_id}, ${row.secret},
      ${row.created_at}, ${row.expires_at})`;
}

/** Lets the current secret of a locked adapter expire. */
export async function expireCurrentSecret(
  tx: Tx,
  { tenant_id, project_id, adapter_id }: AdapterRef,
  expires_at: Date,
): Promise<void> {
  await tx`
    update adapter_secrets set expires_at = ${expires_at}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and adapter_id = ${adapter_id}
      and expires_at is null`;
}

/** Removes at most `limit` secrets that expired before `now`; returns how many. */
export async function removeExpiredSecrets(sql: Tx, now: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from adapter_secrets where expires_at < ${now} order by expires_at limit ${limit}
      for update skip locked)
    delete from adapter_secrets s using old where s.ctid = old.ctid`;
  return count;
}

/** A row with an encrypted value: an adapter's token, or one of its secrets. */
export interface EncryptedRow extends AdapterRef {
  /** The secret's id; that of the adapter for its token. */
  id: string;
  encrypted: Buffer;
}

/** What else the rows of a table are encrypted by: its names. */
const TABLES = {
  token: { table: 'adapters', id: 'adapter_id', encrypted: 'token' },
  secret: { table: 'adapter_secrets', id: 'secret_id', encrypted: 'secret' },
} as const;
export type EncryptedKind = keyof typeof TABLES;

/** Values after `after` that do not begin with `head`, locked against change until the transaction ends. */
export async function lockOtherKeys(
  tx: Tx,
  kind: EncryptedKind,
  head: Buffer,
  after: EncryptedRow | undefined,
  limit: number,
): Promise<EncryptedRow[]> {
  const { table, id, encrypted } = TABLES[kind];
  const further =
    after === undefined
      ? tx``
      : tx`and (tenant_id, project_id, adapter_id, ${tx(id)})
          > (${after.tenant_id}, ${after.project_id}, ${after.adapter_id}, ${after.id})`;
  return tx<EncryptedRow[]>`
    select tenant_id, project_id, adapter_id, ${tx(id)} as id, ${tx(encrypted)} as encrypted from ${tx(table)}
    where ${tx(encrypted)} is not null and substring(${tx(encrypted)} for ${head.length}) <> ${head} ${further}
    order by tenant_id, project_id, adapter_id, ${tx(id)}
    limit ${limit}
    for no key update`;
}

/** Stores the same value, encrypted with another key. */
export async function updateEncrypted(
  tx: Tx,
  kind: EncryptedKind,
  row: EncryptedRow,
  encrypted: Buffer,
): Promise<void> {
  const { table, id, encrypted: column } = TABLES[kind];
  await tx`
    update ${tx(table)} set ${tx(column)} = ${encrypted}
    where tenant_id = ${row.tenant_id} and project_id = ${row.project_id} and adapter_id = ${row.adapter_id}
      and ${tx(id)} = ${row.id}`;
}
