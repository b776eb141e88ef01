import { z } from 'zod';
import { trimmedText } from '../../http/trimmed-text.ts';

/** `POST /v1/projects/:projectId/api-keys`; `ingest_rate` replaces the default rate for this key (spec part 8). */
export const createApiKeyBody = z.strictObject({
  name: trimmedText(1, 200),
  ingest_rate: z
    .strictObject({
      per_minute: z.int().min(1).max(60_000_000),
      burst: z.int().min(1).max(10_000_000),
    })
    .optional(),
});
export type CreateApiKeyBody = z.infer<typeof createApiKeyBody>;

const publicFields = {
  id: z.uuid(),
  name: z.string(),
  prefix: z.string(),
  created_at: z.iso.datetime(),
};

/** The only response that carries `key`. */
export const createdApiKey = z.object({ ...publicFields, key: z.string() });

export const deletedApiKey = z.object({ ...publicFields, deleted_at: z.iso.datetime() });
