import type { Tx } from '../../platform/postgres/port.ts';

export interface NewApiKey {
  tenant_id: string;
  project_id: string;
  key_id: string;
  name: string;
  environment: string;
  public_id: string;
  secret_hash: Buffer;
  ingest_per_minute: number | null;
  ingest_burst: number | null;
  created_at: Date;
}

/** A revoked key as the API shows it. */
export interface RevokedApiKey {
  key_id: string;
  name: string;
  environment: string;
  public_id: string;
  created_at: Date;
  deleted_at: Date;
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

/** Revokes the key; a key revoked before keeps its time. Undefined when the project has no such key. */
export async function revokeApiKey(
  tx: Tx,
  key: { tenant_id: string; project_id: string; key_id: string; deleted_at: Date },
): Promise<RevokedApiKey | undefined> {
  const rows = await tx<RevokedApiKey[]>`
    update api_keys
    set deleted_at = coalesce(deleted_at, ${key.deleted_at})
    where tenant_id = ${key.tenant_id} and project_id = ${key.project_id} and key_id = ${key.key_id}
    returning key_id, name, environment, public_id, created_at, deleted_at`;
  return rows[0];
}
