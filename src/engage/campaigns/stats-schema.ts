import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { SEND_STATUSES, type SendStatus } from '../../analytics/message-status.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { FAILURE_CODES, SKIP_CODES } from '../messaging/send-row.ts';
import { CAMPAIGN_STATUSES } from './schema.ts';
import { INTERVALS, type Interval } from './series.ts';
import type { RecipientFilter } from './stats-queries.ts';

const EVERY_SKIP = 'SKIPPED_*';
const FILTERS: readonly string[] = [...SEND_STATUSES, ...SKIP_CODES, ...FAILURE_CODES, EVERY_SKIP];

/** `GET /v1/campaigns/:id/recipients`; `status` may be an error code too, or `SKIPPED_*`. */
export const recipientsQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z
    .enum(FILTERS, { error: `must be a status, an error code or ${EVERY_SKIP}: ${FILTERS.join(', ')}` })
    .optional(),
});
export type RecipientsQuery = z.infer<typeof recipientsQuery>;

/** The filter that a value of the query's `status` stands for. */
export function filterOf(status: string | undefined): RecipientFilter {
  if (status === undefined) return undefined;
  if (status === EVERY_SKIP) return 'skipped';
  const is_status = (SEND_STATUSES as readonly string[]).includes(status);
  return is_status ? { status: status as SendStatus } : { error_code: status };
}

const counter = z.int().min(0);
const fraction = z.number().min(0);

/** `GET /v1/campaigns/:id/stats` (spec part 4). */
export const campaignStats = z.object({
  campaign_id: z.uuid(),
  status: z.enum(CAMPAIGN_STATUSES),
  counters: z.object({
    recipients_total: counter,
    sent: counter,
    delivered: counter,
    opened: counter,
    clicked: counter,
    bounced: counter,
    failed: counter,
    capped: counter,
  }),
  rates: z.object({
    delivered_rate: fraction,
    open_rate: fraction,
    click_rate: fraction,
    bounce_rate: fraction,
  }),
  machine_opened: counter.describe(
    'Messages that a mail program fetched by itself; no rate and no counter of opened messages has them',
  ),
});

/** `GET /v1/campaigns/:id/conversion-stats` (spec part 4). */
export const conversionStats = z.object({
  campaign_id: z.uuid(),
  goal_event: z.string().nullable(),
  goal_attribution_days: z.int().nullable(),
  variants: z.array(
    z.object({
      variant_id: z.uuid(),
      name: z.string(),
      label: z.string(),
      weight: z.int(),
      recipients: counter,
      conversions: counter,
      conversion_rate: fraction.max(1),
      conversion_value: z.number().nullable().meta({
        description: 'Null without goal_value_property. Money is in the smallest unit of the base currency',
      }),
    }),
  ),
  winner_variant_id: z.uuid().nullable(),
  significance: z.object({ test: z.literal('two_proportion_z'), p_value: z.number() }).nullable(),
});

const interval = z.enum(Object.keys(INTERVALS) as [Interval, ...Interval[]]);

/** `GET /v1/campaigns/:id/series`. */
export const seriesQuery = z.strictObject({
  interval: interval.describe('Absent: hours, or days for more than three days').optional(),
});

export const campaignSeries = z.object({
  interval,
  points: z
    .array(
      z.object({
        at: z.iso.datetime().describe('The begin of the interval, in UTC'),
        sent: counter,
        delivered: counter,
        opened: counter,
        clicked: counter,
        converted: counter.describe('Players, by the time of their goal event'),
      }),
    )
    .describe('At most 400'),
  is_complete: z.boolean().describe('False: later intervals are omitted'),
});

/** `GET /v1/campaigns/:id/failures`. */
export const campaignFailures = z.object({
  by_code: z
    .partialRecord(z.enum([...SKIP_CODES, ...FAILURE_CODES]), counter)
    .describe('Messages by the code of their skip or failure'),
});

nameSchemas({
  CampaignFailures: campaignFailures,
  CampaignSeries: campaignSeries,
  CampaignStats: campaignStats,
  ConversionStats: conversionStats,
});
