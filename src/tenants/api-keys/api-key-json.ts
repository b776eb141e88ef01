import type { z } from 'zod';
import { apiKeyPrefix } from '../../http/auth/api-key.ts';
import type { ApiKeyRow } from './queries.ts';
import type { listedApiKey } from './schema.ts';

/** An API key as in lists and in the audit log, without its secret. */
export function listedApiKeyOf(row: ApiKeyRow): z.infer<typeof listedApiKey> {
  const { ingest_per_minute, ingest_burst, last_used_at, deleted_at } = row;
  const ingest_rate =
    ingest_per_minute === null
      ? null
      : { per_minute: ingest_per_minute, burst: ingest_burst ?? ingest_per_minute };
  return {
    ...publicFieldsOf(row),
    ingest_rate,
    last_used_at: last_used_at?.toISOString() ?? null,
    deleted_at: deleted_at?.toISOString() ?? null,
  };
}

/** The fields that every answer about a key has. */
export function publicFieldsOf({ key_id, name, environment, public_id, created_at }: ApiKeyRow) {
  return {
    id: key_id,
    name,
    prefix: apiKeyPrefix(environment, public_id),
    created_at: created_at.toISOString(),
  };
}
