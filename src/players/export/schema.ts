import { z } from 'zod';
import { int64 } from '../../http/int64.ts';
import { nameSchemas } from '../../http/schema-names.ts';

const timestamp = z.iso.datetime();

/** A copy of a person's data. */
export const playerExport = z.object({
  id: z.uuid(),
  player_id: z.uuid(),
  status: z.enum(['queued', 'ready', 'failed']),
  requested_by: z.string(),
  requested_at: timestamp,
  completed_at: timestamp.nullable(),
  expires_at: timestamp.describe('When it is removed: 7 days after it was made'),
  files: z
    .array(z.object({ name: z.string(), rows: z.int() }))
    .describe('The files in the zip, each with one JSON object per line'),
  bytes: int64.describe('The size of the zip'),
  last_error: z.string().nullable().describe('Why it is tried again, or has failed'),
});

nameSchemas({ PlayerExport: playerExport });
