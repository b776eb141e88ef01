import { z } from 'zod';
import { consumers } from '../system/schema.ts';
import { int64, timestampWithOffset, nameSchemas } from '../../http/field-schemas.ts';
import { eventNameSchema } from '../../ingest/event-name.ts';

const range = {
  from: timestampWithOffset.describe('Event times from here on').optional(),
  to: timestampWithOffset.describe('Event times before this; default: now').optional(),
  days: z.coerce
    .number()
    .int()
    .min(1)
    .max(366)
    .describe('Instead of `from`: this many days of the reporting time zone up to `to`, its own day included')
    .optional(),
};

/** `GET /v1/overview`. */
export const overviewQuery = z.strictObject(range);
export type RangeQuery = z.infer<typeof overviewQuery>;

const moneyOfRange = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  deposits: int64.describe('Gross: what was reversed later is in `deposits_reversed`'),
  withdrawals: int64.describe('Gross, as `deposits`'),
  deposits_reversed: int64.describe('What reversals took back, on the day of the reversal'),
  withdrawals_reversed: int64.describe('What reversals took back, on the day of the reversal'),
  wagered: int64,
  won: int64,
  bonus_wagered: int64.describe('The part of `wagered` that was bonus money'),
  bonus_won: int64.describe('The part of `won` that was bonus money'),
  ggr: int64.describe('wagered - won'),
  credited: int64.describe('Cashback, prizes, released bonuses and goodwill that were paid'),
  debited: int64.describe('Fees and other amounts that were taken'),
  ngr: int64.describe('GGR less bonus cost and deductions, as `config.reporting` says'),
  first_time_depositors: z.int(),
  active_players: z.int().describe('Players with activity of their own'),
  events: z.int(),
});

const timezone = z.string().describe('The time zone of days: `config.reporting.timezone`, or UTC');

const counts = z.record(z.string(), z.int());

const is_stale = z
  .boolean()
  .describe(
    'Whether it is of the last minute and the next one is being computed: ask again in a second or two',
  );

export const overview = z.object({
  base_currency: z.string().describe('Amounts are whole numbers of its smallest unit'),
  timezone,
  at: z.iso.datetime().describe('When this was computed: up to a minute ago'),
  is_stale,
  now: moneyOfRange,
  week_before: moneyOfRange.describe(
    'The same range a week earlier; of a range longer than a week, as many days right before it',
  ),
  messages: z
    .object({
      by_status: counts.describe('How far they have come; skipped ones are failed or capped'),
      skipped: counts.describe('Not sent, by code'),
      failed: counts.describe('Failed, by code'),
      blocked_for_protection: z
        .int()
        .describe('Skipped because the player is excluded, cools off, is at risk or is banned'),
    })
    .describe('Messages that were made in the range'),
  campaigns: z.object({ scheduled: z.int(), sending: z.int() }),
  journeys: z.object({
    active: z.int(),
    paused: z.int(),
    runs_running: z.int().describe('Counted up to 100,000'),
  }),
  grants: z.object({ open: z.int(), liability: int64.describe('Bonus amounts of open grants') }),
  responsible_gaming: z.object({ self_excluded: z.int(), cooling_off: z.int(), banned: z.int() }),
  pipeline: z.object({
    consumers,
    dead_letters: z
      .object({
        found: z.int(),
        is_all: z.boolean().describe('False: only the newest records of the installation were looked at'),
        newest_at: z.iso.datetime().nullable(),
      })
      .nullable()
      .describe('Null: not known now'),
  }),
});

export const METRICS = [
  'deposits',
  'withdrawals',
  'deposits_reversed',
  'withdrawals_reversed',
  'wagered',
  'won',
  'bonus_wagered',
  'bonus_won',
  'ggr',
  'credited',
  'debited',
  'ngr',
  'active_players',
  'first_deposits',
  'new_players',
  'signups',
  'events',
  'messages_sent',
  'messages_delivered',
  'messages_opened',
  'messages_clicked',
  'messages_bounced',
  'messages_skipped',
] as const;
export type Metric = (typeof METRICS)[number];

export const INTERVALS = ['hour', 'day', 'week'] as const;
export type Interval = (typeof INTERVALS)[number];

/** `GET /v1/series`. */
export const seriesQuery = z.strictObject({
  metric: z.enum(METRICS),
  interval: z
    .enum(INTERVALS)
    .default('day')
    .describe('By local time in the reporting time zone; weeks begin on Monday'),
  ...range,
  event: eventNameSchema.optional().describe('For `events` alone'),
});
export type SeriesQuery = z.infer<typeof seriesQuery>;

export const series = z.object({
  metric: z.enum(METRICS),
  interval: z.enum(INTERVALS),
  timezone,
  currency: z.string().nullable().describe('The base currency; null for counts'),
  is_stale,
  points: z.array(z.object({ at: z.iso.datetime().describe('When the interval begins'), value: int64 })),
});

nameSchemas({ Overview: overview, OverviewMoney: moneyOfRange, Series: series });
