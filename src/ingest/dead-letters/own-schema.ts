import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { DEAD_LETTER_REASONS } from '../events/envelope.ts';
import { letterPosition, replayReport } from './schema.ts';

const MAX_REPLAYED = 200;
const reason = z.enum(DEAD_LETTER_REASONS);
const cursor = z.string().max(4_096);

/** `GET /v1/dead-letters`. */
export const listOwnQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: cursor.optional(),
  reason: reason.optional(),
});
export type ListOwnQuery = z.infer<typeof listOwnQuery>;

const force = z.boolean().default(false).describe('Also letters replayed before, or with an unknown outcome');
const from = cursor
  .describe('Where to begin: the cursor of the page that has them, or the previous `next_cursor`')
  .optional();

/** `POST /v1/dead-letters/replay`: named letters, or those that a page of the list would have. */
export const ownReplayBody = z.union([
  z.strictObject({
    letters: z.array(letterPosition).min(1).max(MAX_REPLAYED),
    cursor: from,
    force,
  }),
  z.strictObject({ all: z.literal(true), reason: reason.optional(), cursor: from, force }),
]);
export type OwnReplayBody = z.infer<typeof ownReplayBody>;

export const ownReplayReport = replayReport.extend({
  next_cursor: z.string().nullable().describe('Older letters were not looked at: go on from here'),
});
export type OwnReplayReport = z.infer<typeof ownReplayReport>;

nameSchemas({ OwnReplayReport: ownReplayReport });
