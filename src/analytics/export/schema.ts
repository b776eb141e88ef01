import { z } from 'zod';
import { int64, nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { EXPORTED_TABLES, isOfTime } from './tables.ts';

/** The longest time that one file is about. */
export const MAX_RANGE_MS = 86_400_000;
/** Files of one time. */
export const MAX_FILES = 1_000;

const asked = {
  tenant_id: z.guid(),
  project_id: z.guid(),
  table: z.enum(EXPORTED_TABLES),
  from: timestampWithOffset.optional().describe('Rows of this time or later'),
  to: timestampWithOffset.optional().describe('Rows before this time, at most a day after `from`'),
};

type Range = { table: (typeof EXPORTED_TABLES)[number]; from?: string | undefined; to?: string | undefined };

/** Whether a range has both ends, in order and not too far apart, for tables with a time, and none for others. */
function isRange({ table, from, to }: Range): boolean {
  if (!isOfTime(table)) return from === undefined && to === undefined;
  const length_ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return length_ms > 0 && length_ms <= MAX_RANGE_MS;
}

const RANGE_RULE = {
  path: ['from'],
  error:
    'events and message_sends need `from` and `to`, at most a day apart; players and segment_members take neither',
};

/** `GET /v1/internal/table-export`. */
export const exportSizeQuery = z.strictObject(asked).refine(isRange, RANGE_RULE);
export type ExportedRange = z.infer<typeof exportSizeQuery>;

/** How many rows an export has, and in how many files they should be read. */
export const exportSize = z.object({
  rows: int64,
  files: z.int().min(1).max(MAX_FILES),
});

/** `POST /v1/internal/table-export`: one file of the `files` that the rows are divided into. */
export const exportFileBody = z
  .strictObject({
    ...asked,
    file: z.int().min(1).max(MAX_FILES).default(1).describe('Which file, from 1 on'),
    files: z.int().min(1).max(MAX_FILES).default(1).describe('Into how many files the rows are divided'),
  })
  .refine(isRange, RANGE_RULE)
  .refine(({ file, files }) => file <= files, { path: ['file'], error: 'must not be above `files`' });
export type ExportFileBody = z.infer<typeof exportFileBody>;

nameSchemas({ ExportSize: exportSize, ExportFileBody: exportFileBody });
