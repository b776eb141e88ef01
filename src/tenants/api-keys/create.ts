import type { z } from 'zod';
import { generateApiKey, type ApiKeyEnvironment } from '../../http/auth/api-key.ts';
import type { AuditChange } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { listedApiKeyOf, type CreateApiKeyBody, type createdApiKey } from './schema.ts';
import { insertApiKey } from './queries.ts';
import type { ProjectRef } from '../project-ref.ts';

/** Project, name, environment and rate of a new key. */
export interface ApiKeyRequest extends CreateApiKeyBody, ProjectRef {
  environment: ApiKeyEnvironment;
}

/**
 * Creates an API key of a project. Only the result has the whole key: Postgres stores a hash. `record` is absent when the
 * service creates the key of its demo.
 */
export async function createApiKey(
  { clock, postgres, audit }: { clock: Clock; postgres: Postgres; audit?: AuditChange },
  { tenant_id, project_id, environment, name, ingest_rate }: ApiKeyRequest,
): Promise<z.infer<typeof createdApiKey>> {
  const { key, prefix, public_id, secret_hash } = generateApiKey(environment);
  const key_id = newId();
  const created_at = new Date(clock.now_ms());
  const row = {
    key_id,
    name,
    environment,
    public_id,
    ingest_per_minute: ingest_rate?.per_minute ?? null,
    ingest_burst: ingest_rate?.burst ?? null,
    created_at,
  };
  await postgres.asTenant(tenant_id, (tx) =>
    Promise.all([
      insertApiKey(tx, { tenant_id, project_id, secret_hash, ...row }),
      audit?.(tx, {
        tenant_id,
        project_id,
        resource_id: key_id,
        before: null,
        after: listedApiKeyOf({ ...row, last_used_at: null, deleted_at: null }),
      }),
    ]),
  );
  return { id: key_id, name, prefix, key, created_at: created_at.toISOString() };
}
