import { z } from 'zod';
import { apiKeyPrefix } from '../../http/auth/api-key.ts';
import { nameSchemas } from '../../http/field-schemas.ts';
import type { ListedRejection } from './queries.ts';

/** What was refused to a project for one cause on one UTC day. */
export const rejectedEvent = z.object({
  id: z.uuid(),
  code: z.string().describe('The code of the error'),
  reason: z.string(),
  event: z.string().nullable().describe('The name as it was sent; null: the request was refused as a whole'),
  index: z.int().nullable().describe('The place in its batch of the one that came first'),
  shape: z
    .string()
    .nullable()
    .describe('The names and types in the event that came first; texts are replaced by their length'),
  api_key: z
    .object({
      id: z.uuid(),
      name: z.string().nullable(),
      prefix: z.string().nullable(),
    })
    .nullable()
    .describe('Null: of any key; the row counts what is not kept one by one'),
  client: z.string().describe('The library that sent it, or its kind'),
  count: z.int(),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
});

nameSchemas({ RejectedEvent: rejectedEvent });

/** A row as the API shows it. */
export function rejectedEventOf(row: ListedRejection): z.infer<typeof rejectedEvent> {
  const { key_id, key_name, key_environment, key_public_id } = row;
  const prefix =
    key_environment === null || key_public_id === null ? null : apiKeyPrefix(key_environment, key_public_id);
  return {
    id: row.rejection_key,
    code: row.code,
    reason: row.reason,
    event: row.event,
    index: row.event_index,
    shape: row.shape,
    api_key: key_id === null ? null : { id: key_id, name: key_name, prefix },
    client: row.client,
    count: Number(row.rejections),
    first_at: row.first_at.toISOString(),
    last_at: row.last_at.toISOString(),
  };
}
