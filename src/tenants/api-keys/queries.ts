import type { PendingQuery } from 'postgres';
import type { KeyClient } from '../../http/auth/key-clients.ts';
import type { ApiKeyKind } from '../../http/auth/queries.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../project-ref.ts';

/** The key of a row of `api_keys`. */
export interface ApiKeyRef extends ProjectRef {
  key_id: string;
}

/** What a key is made with, and may be changed later. */
interface KeySettings {
  name: string;
  /** Where pages may use a client key. */
  allowed_origins: string[];
  /** Null: the key has no end. */
  expires_at: Date | null;
}

export interface NewApiKey extends ApiKeyRef, KeySettings {
  environment: string;
  public_id: string;
  kind: ApiKeyKind;
  secret_hash: Buffer;
  /** Encrypted; null of a server key. */
  client_secret: Buffer | null;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  created_at: Date;
}

/** A stored key without its hash and its client secret. Rates are null when the deployment's default applies. */
export interface ApiKeyRow extends KeySettings {
  key_id: string;
  environment: string;
  public_id: string;
  kind: ApiKeyKind;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  created_at: Date;
  /** To about a minute; null until the key is used. */
  last_used_at: Date | null;
  /** When each kind of client used it last, in milliseconds. */
  client_uses: Partial<Record<KeyClient, number>>;
  /** Null until the key is revoked. */
  deleted_at: Date | null;
}

/** A key that was revoked. */
export interface RevokedApiKey extends ApiKeyRow {
  deleted_at: Date;
}

function columns(tx: Tx) {
  return tx`key_id, name, environment, public_id, kind, allowed_origins, expires_at, ingest_per_minute, ingest_burst,
    created_at, last_used_at, client_uses, deleted_at`;
}

/** Adds the key. */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<void> {
  await tx`
    insert into api_keys (
      tenant_id, project_id, key_id, name, environment, public_id, secret_hash, kind, allowed_origins, expires_at,
      client_secret, ingest_per_minute, ingest_burst, created_at
    ) values (
      ${key.tenant_id}, ${key.project_id}, ${key.key_id}, ${key.name}, ${key.environment}, ${key.public_id},
      ${key.secret_hash}, ${key.kind}, ${textArray(key.allowed_origins)}::text::text[], ${key.expires_at},
      ${key.client_secret}, ${key.ingest_per_minute}, ${key.ingest_burst}, ${key.created_at}
    )`;
}

/** The key, revoked or not; its row is locked until the transaction ends; undefined when the project has no such key. */
export async function lockApiKey(
  tx: Tx,
  { tenant_id, project_id, key_id }: ApiKeyRef,
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
  { tenant_id, project_id, key_id }: ApiKeyRef,
  deleted_at: Date,
): Promise<RevokedApiKey | undefined> {
  const rows = await tx<RevokedApiKey[]>`
    update api_keys
    set deleted_at = coalesce(deleted_at, ${deleted_at})
    where tenant_id = ${tenant_id} and project_id = ${project_id} and key_id = ${key_id}
    returning ${columns(tx)}`;
  return rows[0];
}

/** Changes name, origins and end of a key that is not revoked. Undefined when the project has no such key. */
export async function updateApiKey(
  tx: Tx,
  { tenant_id, project_id, key_id }: ApiKeyRef,
  { name, allowed_origins, expires_at }: KeySettings,
): Promise<ApiKeyRow | undefined> {
  const rows = await tx<ApiKeyRow[]>`
    update api_keys
    set name = ${name}, allowed_origins = ${textArray(allowed_origins)}::text::text[], expires_at = ${expires_at}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and key_id = ${key_id} and deleted_at is null
    returning ${columns(tx)}`;
  return rows[0];
}

/** The client secret of a key, encrypted. */
interface SecretRow {
  tenant_id: string;
  key_id: string;
  client_secret: Buffer;
}

/** Client secrets after `after` that do not begin with `head`, locked against change until the transaction ends. */
export async function lockSecretsOfOtherKeys(
  tx: Tx,
  head: Buffer,
  after: Omit<SecretRow, 'client_secret'> | undefined,
  limit: number,
): Promise<SecretRow[]> {
  const further =
    after === undefined ? tx`` : tx`and (tenant_id, key_id) > (${after.tenant_id}, ${after.key_id})`;
  return tx<SecretRow[]>`
    select tenant_id, key_id, client_secret from api_keys
    where client_secret is not null and substring(client_secret for ${head.length}) <> ${head} ${further}
    order by tenant_id, key_id
    limit ${limit}
    for no key update`;
}

/** Stores the same secret, encrypted with another key. */
export async function updateSecret(tx: Tx, { tenant_id, key_id, client_secret }: SecretRow): Promise<void> {
  await tx`
    update api_keys set client_secret = ${client_secret}
    where tenant_id = ${tenant_id} and key_id = ${key_id}`;
}

/** A page of the project's keys, the newest first: those in use, or those that were revoked. */
export function listApiKeys(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
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
