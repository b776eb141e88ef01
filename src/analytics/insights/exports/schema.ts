import { z } from 'zod';
import { int64, nameSchemas, trimmedText } from '../../../http/field-schemas.ts';

export const FORMATS = ['csv', 'parquet'] as const;
export type ExportFormat = (typeof FORMATS)[number];
export const CONTACTS = ['email', 'phone'] as const;
export type Contact = (typeof CONTACTS)[number];

/** What an export has besides its query and cell. */
export const exportFields = {
  format: z.enum(FORMATS),
  contact: z
    .array(z.enum(CONTACTS))
    .max(CONTACTS.length)
    .refine((names) => new Set(names).size === names.length, 'must name each once')
    .describe('Addresses of the players: for compliance, with a reason')
    .optional(),
  reason: trimmedText(1, 500).describe('Why addresses are needed; the audit log keeps it').optional(),
};

/** An export. */
export const insightExport = z.object({
  id: z.uuid(),
  status: z.enum(['queued', 'ready', 'failed']),
  of: z.enum(['figures', 'players']),
  format: z.enum(FORMATS),
  contact: z.array(z.enum(CONTACTS)),
  requested_by: z.string(),
  requested_at: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable(),
  expires_at: z.iso.datetime().describe('When it is removed: 24 hours after it was made'),
  rows: int64,
  bytes: int64.describe('The size of the file'),
  last_error: z.string().nullable().describe('Why it is tried again, or has failed'),
});

nameSchemas({ InsightExport: insightExport });
