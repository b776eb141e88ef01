import { z } from 'zod';
import { nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';
import { CAMPAIGN_STATUSES } from '../campaigns/schema.ts';
import { JOURNEY_STATUSES } from '../journeys/graph/schema.ts';

const MAX_DAYS = 93;
const DAY_MS = 86_400_000;

/** `GET /v1/calendar`. */
export const calendarQuery = z
  .strictObject({
    from: timestampWithOffset.describe('Entries at this time or later'),
    to: timestampWithOffset.describe(`Entries before this time; at most ${MAX_DAYS} days after \`from\``),
  })
  .refine(
    ({ from, to }) => {
      const length_ms = Date.parse(to) - Date.parse(from);
      return length_ms > 0 && length_ms <= MAX_DAYS * DAY_MS;
    },
    { path: ['to'], message: `must be after \`from\`, by at most ${MAX_DAYS} days` },
  );

/** A campaign, or a time at which a schedule starts a journey. */
const calendarEntry = z.object({
  kind: z.enum(['campaign', 'journey']),
  id: z.uuid(),
  name: z.string(),
  channel: z.enum(CHANNELS).nullable().describe('Null for a journey'),
  status: z.enum([...CAMPAIGN_STATUSES, ...JOURNEY_STATUSES]),
  at: z.iso.datetime(),
});
export type CalendarEntry = z.infer<typeof calendarEntry>;

export const calendar = z.object({
  entries: z.array(calendarEntry).describe('The earliest first; of a journey at most 40'),
  is_complete: z.boolean().describe('False: entries were omitted'),
});

nameSchemas({ Calendar: calendar, CalendarEntry: calendarEntry });
