import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { DEAD_LETTER_REASONS } from '../events/envelope.ts';

/** Offsets that one replay request may name. */
export const MAX_OFFSETS = 1_000;
/** Letters that a replay report lists one by one; its counts have no such limit. */
export const MAX_LISTED = 1_000;

const reason = z.enum(DEAD_LETTER_REASONS);
const offset = z.string().regex(/^\d{1,18}$/, 'must be an offset in digits');
const partition = z.int().min(0).max(100_000);

/** `GET /v1/internal/dead-letters`. */
export const listLettersQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().max(4_096).optional().describe('The `next_cursor` of the page before'),
  reason: reason.optional(),
});
export type ListLettersQuery = z.infer<typeof listLettersQuery>;

/** The replay state of a letter: `unknown` when its replay began and no end was recorded, as after a crash. */
export const replayState = z.enum(['none', 'replayed', 'unknown']);
export type ReplayState = z.infer<typeof replayState>;

/** A dead letter; partition and offset are the record's position on `events` and identify the letter. */
export const letterResource = z.object({
  partition: z.int(),
  offset: z.string(),
  reason,
  message: z.string(),
  key: z.string(),
  value: z.string().describe('The record as it was; its beginning when there is a `value_bytes`'),
  value_bytes: z
    .int()
    .optional()
    .describe('The size of a record that is too large for a letter; it is still on `events`'),
  at: z.iso.datetime(),
  replay: replayState,
});
export type LetterResource = z.infer<typeof letterResource>;

/** `POST /v1/internal/dead-letters/replay`: named letters of one partition, or all. */
export const replayBody = z.union([
  z.strictObject({
    partition,
    offsets: z.array(offset).min(1).max(MAX_OFFSETS),
    reason: reason.optional(),
    force: z.boolean().default(false).describe('Also letters replayed before, or with an unknown outcome'),
  }),
  z.strictObject({
    all: z.literal(true),
    partition: partition.optional(),
    reason: reason.optional(),
    force: z.boolean().default(false),
  }),
]);
export type ReplayBody = z.infer<typeof replayBody>;

/** The position of the rejected record on `events`, which names a letter. */
export const letterPosition = z.strictObject({ partition, offset });
export type LetterPosition = z.infer<typeof letterPosition>;

export const replayReport = z.object({
  replayed: z.int().describe('Records appended to `events` again'),
  replayed_before: z.int().describe('Skipped: replayed before'),
  unknown_outcome: z
    .array(letterPosition)
    .describe('Skipped: it is not known whether their replay went out; use `force`'),
  unknown_outcomes: z.int(),
  incomplete: z
    .array(letterPosition)
    .describe('Skipped: these letters have only the beginning of their record'),
  not_found: z.array(letterPosition).describe('No letter of this name (and reason)'),
});
export type ReplayReport = z.infer<typeof replayReport>;

nameSchemas({
  DeadLetter: letterResource,
  ReplayBody: replayBody,
  ReplayReport: replayReport,
  DeadLetterPosition: letterPosition,
});
