import { z } from 'zod';
import { int64, nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { previewBody } from '../schema.ts';

const MAX_HORIZON_DAYS = 365;

/** `POST /v1/segments/backtest`. */
export const backtestBody = z.strictObject({
  definition: previewBody.shape.definition,
  as_of: timestampWithOffset.describe('A time of the last 800 days'),
  horizon_days: z.int().min(1).max(MAX_HORIZON_DAYS).describe('The days after as_of that are looked at'),
});
export type BacktestBody = z.infer<typeof backtestBody>;

const of_members = { denominator: z.int().describe('Members at as_of') };

/** The answer to it. */
export const backtestResult = z.object({
  as_of: z.iso.datetime(),
  horizon_days: z.int(),
  is_over: z.boolean().describe('False: the days are not over, so their figures are null'),
  members: z.int(),
  base_rate: z
    .object({ numerator: z.int().describe('Members with a deposit in these days'), ...of_members })
    .nullable(),
  ngr_per_head: z
    .object({ numerator: int64.describe('In the smallest unit of the base currency'), ...of_members })
    .nullable(),
  smallest_visible_effect: z
    .array(
      z.object({
        held_out_percent: z.number(),
        points: z.number().describe('The difference of the rates, in percentage points'),
      }),
    )
    .describe('What a campaign to the members could show at 5 % false alarms in 80 of 100 cases'),
  not_historic: z
    .array(z.string())
    .describe('Fields of which only the present is known: they were read as they are now'),
});
type Answer = z.infer<typeof backtestResult>;
/** Sums of money are written with all their digits. */
export type Backtest = Omit<Answer, 'ngr_per_head'> & {
  ngr_per_head: { numerator: bigint; denominator: number } | null;
};

nameSchemas({ BacktestSegmentBody: backtestBody, SegmentBacktest: backtestResult });
