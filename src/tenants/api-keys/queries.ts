import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../project-ref.ts';

export interface NewApiKey extends ProjectRef {
  key_id: string;
  name: string;
  environment: string;
  public_id: string;
  secret_hash: Buffer;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  created_at: Date;
}

/** A stored key without its hash. Rates are null when the deployment's default applies. */
export interface ApiKeyRow {
  key_id: string;
  name: string;
  environment: string;
  public_id: string;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  created_at: Date;
  /** To about a minute; null until the key is used. */
  last_used_at: Date | null;
  /** Null until the key is revoked. */
  deleted_at: Date | null;
}

/** A key that was revoked. */
export interface RevokedApiKey extends ApiKeyRow {
  deleted_at: Date;
}

function columns(tx: Tx) {
  return tx`key_id, name, environment, public_id, ingest_per_minute, ingest_burst, created_at, last_used_at, deleted_at`;
}

export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<void> {
  await tx`
    insert into api_keys (
      tenant_id, project_id, key_id, name, environment, public_id, secret_hash,
      ingest_per_minute, ingest_burst, created_at
    ) values (
      ${key.tenant_id}, ${key.project_id}, ${key.key_id}, ${key.name}, ${key.environment}, ${key.public_id},
      ${key.secret_hash}, ${key.ingest_per_minute}, ${key.ingest_burst}, ${key.created_at}
    )`;
}

/** The key, revoked or not; its row is locked until the transaction ends; undefined when the project has no such key. */
export async function lockApiKey(
  tx: Tx,
  { tenant_id, project_id, key_id }: { tenant_id: string; project_id: string; key_id: string },
): Promise<ApiKeyRow | undefined> {
  const rows = await tx<ApiKeyRow[]>`
    select ${columns(tx)} from api_keys
    where tenant_id = ${tenant_id} and project_id = ${project_id} and key_id = ${key_id}
    for no key update`;
  return rows[0];
}

/** Revokes the key; a key revoked before keeps its `deleted_at`. Undefined when the project has no such key. */
export async function revokeApiKey(
  tx: Tx,
  key: { tenant_id: string; project_id: string; key_id: string; deleted_at: Date },
): Promise<RevokedApiKey | undefined> {
  const rows = await tx<RevokedApiKey[]>`
    update api_keys
    set deleted_at = coalesce(deleted_at, ${key.deleted_at})
    where tenant_id = ${key.tenant_id} and project_id = ${key.project_id} and key_id = ${key.key_id}
    returning ${columns(tx)}`;
  return rows[0];
}

/** A page of the project's keys, the newest first: those in use, or those that were revoked. */
export function listApiKeys(
  tx: Tx,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  revoked: boolean,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<ApiKeyRow>[]> {
  return tx<Listed<ApiKeyRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from api_keys
    where tenant_id = ${tenant_id} and project_id = ${project_id} and (deleted_at is not null) = ${revoked}
      ${beyond(tx, 'created_at', 'key_id', after)}
    order by created_at desc, key_id desc
    limit ${limit}`;
}
