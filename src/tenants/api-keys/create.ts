import type { z } from 'zod';
import { generateApiKey, type ApiKeyEnvironment } from '../../http/auth/api-key.ts';
import { encryptClientSecret, newClientSecret } from '../../http/auth/client-secret.ts';
import type { AuditChange } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { listedApiKeyOf, type createdApiKey, type CreateApiKeyBody } from './schema.ts';
import { insertApiKey } from './queries.ts';
import type { ProjectRef } from '../project-ref.ts';

/** Project, environment and body of a new key. Absent `kind`: a server key. */
export type ApiKeyRequest = Omit<CreateApiKeyBody, 'kind'> &
  Partial<Pick<CreateApiKeyBody, 'kind'>> &
  ProjectRef & { environment: ApiKeyEnvironment };

interface Deps {
  clock: Clock;
  postgres: Postgres;
  /** Absent when the service creates the key of its demo. */
  audit?: AuditChange;
  /** Encrypts the secret of a client key, which cannot be made without it. */
  credentials_keys?: EncryptionKeys;
}

/**
 * Creates an API key of a project. Only the result has the whole key and the client secret: Postgres has a hash of the
 * one, and the other encrypted.
 */
export async function createApiKey(
  { clock, postgres, audit, credentials_keys }: Deps,
  request: ApiKeyRequest,
): Promise<z.infer<typeof createdApiKey>> {
  const { tenant_id, project_id, environment, name, kind = 'server', ingest_rate, expires_at } = request;
  const { key, prefix, public_id, secret_hash } = generateApiKey(environment);
  const key_id = newId();
  const created_at = new Date(clock.now_ms());
  const client_secret = kind === 'client' ? newClientSecret() : undefined;
  const row = {
    key_id,
    name,
    environment,
    public_id,
    kind,
    allowed_origins: request.allowed_origins ?? [],
    expires_at: expires_at === undefined ? null : new Date(expires_at),
    ingest_per_minute: ingest_rate?.per_minute ?? null,
    ingest_burst: ingest_rate?.burst ?? null,
    created_at,
  };
  const secrets = {
    secret_hash,
    client_secret:
      client_secret === undefined ? null : sealed(credentials_keys, { tenant_id, key_id }, client_secret),
  };
  const listed = listedApiKeyOf({ ...row, client_uses: {}, last_used_at: null, deleted_at: null });
  await postgres.asTenant(tenant_id, (tx) =>
    Promise.all([
      insertApiKey(tx, { tenant_id, project_id, ...secrets, ...row }),
      audit?.(tx, { tenant_id, project_id, resource_id: key_id, before: null, after: listed }),
    ]),
  );
  const created = { id: key_id, name, prefix, key, created_at: created_at.toISOString() };
  if (client_secret === undefined) return created;
  return { ...created, kind, allowed_origins: row.allowed_origins, client_secret };
}

function sealed(
  keys: EncryptionKeys | undefined,
  owner: { tenant_id: string; key_id: string },
  client_secret: string,
): Buffer {
  if (keys === undefined) throw new TypeError('a client key needs the keys that encrypt its secret');
  return encryptClientSecret(keys, owner, client_secret);
}
