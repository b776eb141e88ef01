import { z } from 'zod';
import { DEAD_LETTER_REASONS } from '../../ingest/events/envelope.ts';
import { eventNameSchema } from '../../ingest/event-name.ts';
import { int64, timestampWithOffset, nameSchemas, placeInQuery } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';

const MAX_STREAM_S = 3_600;

/** `GET /v1/event-stream`. */
export const liveQuery = z.strictObject({
  ...placeInQuery,
  event: eventNameSchema.optional().describe('Events of this name alone'),
  player_id: z.guid().optional().describe('Events of this player alone, by any of its ids'),
  max_s: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_STREAM_S)
    .default(MAX_STREAM_S)
    .describe('Ends after so long'),
});

/** The stream as text; the description says what its events are. */
export const liveStream = z
  .string()
  .describe(
    'Server-sent events. `ready`: everything accepted from now on is shown. Without a name: one accepted event as JSON ' +
      '(ingestion_id, index, event, player_id, anonymous_id, timestamp, received_at, environment, is_shortened, ' +
      'properties). `skipped`: {"count"} events were not shown, null: nobody knows how many. Send the last `id` as ' +
      'Last-Event-ID to go on from there',
  );

/** `GET /v1/event-search`. */
export const searchQuery = z.strictObject({
  ...PAGE_QUERY,
  event: eventNameSchema.optional(),
  player_id: z.guid().optional(),
  from: timestampWithOffset.describe('Event times from here on; default: a day before `to`').optional(),
  to: timestampWithOffset.describe('Event times before this; default: now').optional(),
});
export type SearchQuery = z.infer<typeof searchQuery>;

const amount = int64.nullable();

export const foundEvent = z.object({
  ingestion_id: z.uuid(),
  index: z.int(),
  event: z.string(),
  player_id: z.uuid(),
  timestamp: z.iso.datetime(),
  received_at: z.iso.datetime(),
  base_amount: amount.describe('In the base currency; null without an amount, or while no rate is known'),
  base_payout: amount,
  properties: z.record(z.string(), z.unknown()).describe('E-mail addresses and telephone numbers are masked'),
});

const step = z.enum(['done', 'pending', 'none', 'unknown']);

/** `GET /v1/event-trace/:ingestion_id/:index`. */
export const eventTrace = z.object({
  ingestion_id: z.uuid(),
  index: z.int(),
  event: z.string(),
  player_id: z.uuid().nullable(),
  accepted: z.object({ status: step, at: z.iso.datetime() }),
  folded: z.object({
    status: step.describe('unknown: read long ago, and its result is not known'),
    verdict: z.enum(['applied', 'duplicate', 'conflicting', 'rejected']).nullable(),
    reason: z.enum(DEAD_LETTER_REASONS).nullable(),
    message: z.string().nullable(),
    duplicate_of: z.object({ ingestion_id: z.uuid(), index: z.int() }).nullable(),
    money: z
      .object({
        reference: z.string(),
        currency: z.string().nullable(),
        amount,
        payout: amount,
        base_amount: amount,
        base_payout: amount,
        rate: z.string().nullable().describe('Null: none was needed, or none is known yet'),
        rate_at: z.iso.datetime().nullable(),
        rate_is_inverse: z.boolean().nullable(),
      })
      .nullable(),
  }),
  landed: z.object({ status: step.describe('Whether ClickHouse has it; `none`: it never will') }),
  segments_entered_since: z
    .array(z.object({ segment_id: z.uuid(), name: z.string(), entered_at: z.iso.datetime() }))
    .describe(
      'Memberships of the player that began after the event was received, at most 50: not all are due to it',
    ),
});
export type EventTrace = z.infer<typeof eventTrace>;

/** The answer of `POST /v1/test-events`: where the event is. */
export const sentTestEvent = z.object({ ingestion_id: z.uuid(), index: z.int() });

nameSchemas({ FoundEvent: foundEvent, EventTrace: eventTrace, SentTestEvent: sentTestEvent });
