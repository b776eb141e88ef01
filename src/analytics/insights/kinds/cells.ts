import { z } from 'zod';
import { int64, timestampWithOffset } from '../../../http/field-schemas.ts';
import { MAX_COHORTS, MAX_FUNNEL_STEPS, MAX_TOP } from '../limits.ts';

// Which figure of an answer the players are asked of, by kind.

const group = z.string().max(1_024);

/** A figure of a funnel. */
export const funnelCell = z.strictObject({
  step: z.int().min(1).max(MAX_FUNNEL_STEPS).default(1).describe('From 1 on'),
  is: z
    .enum(['reached', 'dropped'])
    .default('reached')
    .describe('`dropped`: took the step and not the next one'),
  group: group.describe('The group; absent: all, or what `not_in` leaves').optional(),
  not_in: z.array(group).max(MAX_TOP).describe('Of `other`: the groups with rows of their own').optional(),
});
export type FunnelCellRef = z.infer<typeof funnelCell>;

/** A figure of a retention. */
export const retentionCell = z.strictObject({
  cohort: timestampWithOffset.describe('When the cohort begins'),
  period: z
    .int()
    .min(0)
    .max(MAX_COHORTS - 1)
    .describe('From 0 on; absent: the whole cohort')
    .optional(),
  of: z
    .enum(['players', 'value'])
    .default('players')
    .describe('Who returned in the period, or whose money is in its value'),
});
export type RetentionCellRef = z.infer<typeof retentionCell>;

/**
 * Who was active in an interval and in the time before it. `new`: active, not active in the quiet time before, and not known
 * before that; `returning`: active, and in the quiet time before; `reactivated`: active, not in the quiet time before, known
 * before that; `churned`: active in the quiet time before and not now.
 */
export const LIFECYCLE = ['new', 'returning', 'reactivated', 'churned'] as const;
export type LifecycleState = (typeof LIFECYCLE)[number];

/** A figure of a lifecycle. */
export const lifecycleCell = z.strictObject({
  at: timestampWithOffset.describe('When the interval begins'),
  state: z.enum(LIFECYCLE),
});
export type LifecycleCellRef = z.infer<typeof lifecycleCell>;

const place = z.int().min(1);

/** A figure of a distribution. */
export const distributionCell = z.union([
  z
    .strictObject({
      first: place.describe('The highest value has the place 1'),
      last: place.describe('The last place that is meant'),
    })
    .refine(({ first, last }) => first <= last, { path: ['last'], message: 'must not be before `first`' }),
  z.strictObject({
    from: int64.describe('Values from here on').optional(),
    to: int64.describe('Values below this').optional(),
  }),
]);
export type DistributionCellRef = z.infer<typeof distributionCell>;
