import { z } from 'zod';
import { ignored, int64, nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { COMPUTED_OF_DUE, dueFields, isEnabledSchema } from '../due/schema.ts';
import { receiversSchema, shownReceiver } from '../notices/schema.ts';
import { trendQuery } from '../schema.ts';

/** Alerts of a project that are not deleted. */
export const MAX_ALERTS = 100;
/** Days of the preview. */
export const PREVIEW_DAYS = 90;
/** Firings that an alert shows. */
export const SHOWN_FIRINGS = 10;
/** Firings that a preview shows. */
export const PREVIEWED_FIRINGS = 500;
/** Weeks with which an unusual value is compared, and how many of them must be known. */
export const WEEKS = 8;
export const MIN_WEEKS = 4;

const OPS = ['gt', 'gte', 'lt', 'lte'] as const;
export type Op = (typeof OPS)[number];
const op = z.enum(OPS);

const number = z
  .number()
  .min(-1e15)
  .max(1e15)
  .refine((value) => Number(value.toFixed(6)) === value, 'must have at most 6 decimal places');

const condition = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('threshold'),
      op,
      value: number.describe(
        'Money in the smallest unit; a rate as its numerator divided by its denominator',
      ),
    }),
    z.strictObject({
      kind: z.literal('change'),
      against: z
        .enum(['previous', 'week'])
        .describe('The interval right before, or the same one seven days earlier by the clocks'),
      op,
      bp: z
        .int()
        .min(-1_000_000)
        .max(1_000_000)
        .describe('The change in hundredths of a percent of the value before: -2000 is 20 % less'),
    }),
    z.strictObject({
      kind: z.literal('unusual'),
      minimum: z.int().min(0).describe('Of the value or its median; of a rate of the denominator'),
    }),
  ])
  .describe('When an interval fires');
export type Condition = z.infer<typeof condition>;

/** What an alert asks: a trend of one series, or the ratio of two. */
export const alertQuery = z
  .strictObject({
    kind: z.literal('trend'),
    series: trendQuery.shape.series.max(2),
    ratio: trendQuery.shape.ratio,
    filter: trendQuery.shape.filter,
  })
  .refine(({ series, ratio }) => (series.length === 2) === (ratio !== undefined), {
    path: ['series'],
    message: 'must be one, or two with `ratio`',
  })
  .refine(({ ratio }) => ratio?.every((n) => n < 2) ?? true, {
    path: ['ratio'],
    message: 'must name two of the series',
  })
  .refine(({ series }) => series.every((one) => !('metric' in one && one.metric === 'deductions')), {
    path: ['series'],
    message: 'deductions are several figures: ask for one that is a single figure',
  });
export type AlertQuery = z.infer<typeof alertQuery>;

const interval = z.enum(['hour', 'day']).describe('By local time in the reporting time zone');
const name = trimmedText(1, 200);

const amount = z
  .union([int64, z.number(), z.object({ numerator: int64, denominator: int64 })])
  .nullable()
  .describe('As in the answers of queries');
const firing = z.object({
  from: z.iso.datetime().describe('When the interval began'),
  to: z.iso.datetime(),
  value: amount,
  before: amount.describe('Of a change: the value that it was compared with'),
  low: z.number().nullable().describe('Of an unusual value: from here to `high` a value is usual'),
  high: z.number().nullable(),
});

const firings = z.array(firing).describe('The newest first');

/** Fields that no body sets. */
export const COMPUTED_FIELDS: ReadonlySet<string> = new Set([...COMPUTED_OF_DUE, 'firings']);

/** `POST /v1/alerts`. */
export const createAlertBody = z.strictObject({
  name,
  query: alertQuery,
  interval,
  condition,
  receivers: receiversSchema,
  is_enabled: isEnabledSchema.default(true),
});
/** What of an alert is stored in addition to its name. */
export type AlertContent = Omit<z.infer<typeof createAlertBody>, 'name'>;

/** `PATCH /v1/alerts/:id`. */
export const patchAlertBody = z.strictObject({
  name: name.optional(),
  query: alertQuery.optional(),
  interval: interval.optional(),
  condition: condition.optional(),
  receivers: receiversSchema.optional(),
  is_enabled: isEnabledSchema.optional(),
});

export const alertResource = z.object({
  name: z.string(),
  query: z.record(z.string(), z.unknown()).describe('A trend without range, interval and breakdown'),
  interval: z.enum(['hour', 'day']),
  condition: z.record(z.string(), z.unknown()),
  receivers: z.array(shownReceiver),
  is_enabled: z.boolean(),
  ...dueFields('Intervals that end until then are decided; null: none yet'),
  firings,
});

/** `POST /v1/alerts/preview`. */
export const previewBody = z.strictObject({
  ...ignored(createAlertBody),
  query: alertQuery,
  interval,
  condition,
});
export type PreviewBody = z.infer<typeof previewBody>;

export const alertPreview = z.object({
  currency: z.string(),
  timezone: z.string(),
  from: z.iso.datetime().describe(`${PREVIEW_DAYS} days ago, by whole intervals`),
  to: z.iso.datetime().describe('The end of the last interval that is over'),
  intervals: z.int(),
  undecided: z.int().describe('Intervals that had no value, or nothing to compare it with'),
  fired: z.int().describe('Intervals that would have fired'),
  firings: z.array(firing).describe(`The last ${PREVIEWED_FIRINGS} of them, the newest first`),
});

nameSchemas({
  AlertQuery: alertQuery,
  AlertCondition: condition,
  CreateAlertBody: createAlertBody,
  PatchAlertBody: patchAlertBody,
  PreviewAlertBody: previewBody,
  Alert: alertResource,
  AlertFiring: firing,
  AlertPreview: alertPreview,
});
