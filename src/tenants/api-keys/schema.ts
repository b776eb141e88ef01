import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';
import { apiKeyPrefix } from '../../http/auth/api-key.ts';
import type { ApiKeyRow } from './queries.ts';

const ingestRate = z.strictObject({
  per_minute: z.int().min(1).max(60_000_000),
  burst: z.int().min(1).max(10_000_000),
});

/** `POST /v1/projects/:projectId/api-keys`; `ingest_rate` replaces the default rate for this key (spec part 8). */
export const createApiKeyBody = z.strictObject({
  name: trimmedText(1, 200),
  ingest_rate: ingestRate.optional(),
});
export type CreateApiKeyBody = z.infer<typeof createApiKeyBody>;

/** `GET /v1/projects/:projectId/api-keys`: active keys, or the revoked ones. */
export const listApiKeysQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(['active', 'revoked']).default('active'),
});

const publicFields = {
  id: z.uuid(),
  name: z.string(),
  prefix: z.string(),
  created_at: z.iso.datetime(),
};

/** The only response that carries `key`. */
export const createdApiKey = z.object({ ...publicFields, key: z.string() });

/** An entry of the list. `ingest_rate` is null when the default applies, `deleted_at` until the key is revoked. */
export const listedApiKey = z.object({
  ...publicFields,
  ingest_rate: ingestRate.nullable(),
  last_used_at: z.iso
    .datetime()
    .nullable()
    .describe('The last accepted request, to about a minute; null: none yet'),
  deleted_at: z.iso.datetime().nullable(),
});

export const deletedApiKey = z.object({ ...publicFields, deleted_at: z.iso.datetime() });

nameSchemas({
  CreateApiKeyBody: createApiKeyBody,
  CreatedApiKey: createdApiKey,
  ApiKey: listedApiKey,
  DeletedApiKey: deletedApiKey,
  IngestRate: ingestRate,
});

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
