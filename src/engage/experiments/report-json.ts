import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import type { ArmData, ArmVerdict, Effect, MoneyEffect } from './report.ts';
import type { Interval } from './statistics/interval.ts';
import { rateOf } from './statistics/rates.ts';
import { BEFORE_DAYS, type Experiment, type Measured } from './experiment.ts';
import { HARMS, type Harm } from './uplift-queries.ts';

const count = z.int().min(0);
const interval = z
  .object({ low: z.number(), high: z.number() })
  .describe('It covers the true difference in 95 of 100 experiments');
const p_value = z
  .number()
  .nullable()
  .describe(
    'Corrected for the number of arms; null before the last window is over, and where looks are free',
  );
const harms = <T extends z.ZodType>(of: T) => z.object({ exclusions: of, limits_reached: of, cooldowns: of });

const harmEffect = z.object({
  difference: z.number().describe('Of the shares of players'),
  interval,
  is_worse: z.boolean(),
});

const figures = {
  players: count,
  conversions: count,
  rate: z.number().nullable().describe('Null without a goal'),
  ngr: z.number().describe('Net gaming revenue of the window, in the smallest unit of the base currency'),
  ngr_per_player: z.number(),
  harmed: harms(count).describe('Players with such an event in the window'),
};

const arm = z.object({
  arm: z.string().describe('The id of a variant, or `treated`'),
  name: z.string().nullable(),
  ...figures,
  verdict: z.object({
    decision: z.enum(['more', 'less', 'none']),
    reason: z
      .enum(['window_open', 'uneven_arms', 'few_conversions', 'skewed', 'no_players', 'no_difference_shown'])
      .nullable(),
  }),
  rate_effect: z
    .object({ difference: z.number(), interval, p_value, method: z.enum(['newcombe', 'sequence']) })
    .nullable(),
  money_effect: z
    .object({
      difference: z.number().describe('Per player, after the regression on what players brought before'),
      interval,
      p_value,
      method: z.enum(['permutation', 'welch', 'sequence']),
      explained: z.number().describe('The share of the variance that what players brought before explains'),
      skew: z.number(),
      is_skewed: z.boolean().describe('The values are too skewed for so few players: no verdict on money'),
      cut: z
        .object({
          cap: z.number(),
          difference: z.number(),
          interval,
          cut_players: count,
          rests_on: count.nullable().describe('The sign changes: the difference rests on so many players'),
        })
        .nullable()
        .describe('The same with values cut at the 99.5th percentile of what players brought before'),
    })
    .nullable(),
  harm: harms(harmEffect),
  return: z
    .object({ incremental_ngr: z.number(), interval })
    .nullable()
    .describe('The difference per player times the players'),
});

/** What an experiment has brought. */
export const upliftReport = z.object({
  kind: z.enum(['campaign', 'journey', 'bonus_campaign', 'global']),
  experiment_id: z.uuid(),
  as_of: z.iso.datetime(),
  looks: z
    .enum(['once', 'always'])
    .describe('`once`: a verdict when the last window is over. `always`: whenever it is looked at'),
  is_final: z.boolean(),
  closes_at: z.iso.datetime().nullable().describe('When the last window is over; null: not known yet'),
  window_days: z.int(),
  before_days: z.int(),
  holdout_percent: z.number(),
  drawn_since: z.iso.datetime().nullable().describe('Who came before is not counted'),
  goal_event: z.string().nullable(),
  bonus_cost: z.enum(['feed', 'grants']).describe('Of NGR').optional(),
  deductions: z.array(z.string()).describe('Names of what is less in NGR').optional(),
  primary: z.enum(['rate', 'money']).describe('The figure that decides'),
  waiting: count.describe('Players whose window is not over, who are not counted yet'),
  in_two_arms: count.describe('Players who were merged of two in different arms: not counted'),
  balance: z.object({
    p_value: z.number().describe('How likely arms are at least as uneven when drawn as planned'),
    is_uneven: z.boolean(),
  }),
  held_out: z.object(figures),
  arms: z.array(arm),
});

nameSchemas({ EffectInterval: interval, HarmEffect: harmEffect, UpliftReport: upliftReport });

const shownInterval = ([low, high]: Interval) => ({ low, high });

function figuresOf({ sums, ngr, converted, harm }: ArmData, has_goal: boolean) {
  const players = Number(sums.n);
  return {
    players,
    conversions: converted,
    rate: has_goal ? rateOf({ players, converted }) : null,
    ngr,
    ngr_per_player: players === 0 ? 0 : Number(ngr) / players,
    harmed: harm,
  };
}

function shownRate(effect: Effect | null) {
  if (effect === null || effect.interval === null) return null;
  const { difference, p_value: p, method } = effect;
  return { difference, interval: shownInterval(effect.interval), p_value: p, method };
}

function shownMoney(effect: MoneyEffect | null, cap: bigint | null) {
  if (effect === null || effect.interval === null) return null;
  const { cut, interval: ends, ...rest } = effect;
  return {
    ...rest,
    interval: shownInterval(ends),
    cut: cut === null || cap === null ? null : { ...cut, cap, interval: shownInterval(cut.interval) },
  };
}

function shownReturn(effect: MoneyEffect | null, { sums }: ArmData) {
  if (effect === null || effect.interval === null) return null;
  const players = Number(sums.n);
  const [low, high] = effect.interval;
  return {
    incremental_ngr: effect.difference * players,
    interval: { low: low * players, high: high * players },
  };
}

interface Found extends Measured {
  judged: { uneven_p: number; is_uneven: boolean; arms: readonly ArmVerdict[] };
  is_final: boolean;
  now_ms: number;
}

/** The report as it is answered; amounts are bigints. */
export function shownReport(experiment: Experiment, found: Found) {
  const { goal, arms, looks } = experiment;
  const { judged, counted, held_out, treated, closes_ms, reporting, scale } = found;
  const cap = found.cap === null ? null : BigInt(found.cap) / scale;
  const total = (of: 'waiting' | 'in_two_arms') => counted.reduce((sum, one) => sum + Number(one[of]), 0);
  return {
    kind: experiment.kind,
    experiment_id: experiment.experiment_id,
    as_of: new Date(found.now_ms),
    looks,
    is_final: found.is_final,
    closes_at: closes_ms === null ? null : new Date(closes_ms),
    window_days: experiment.window_days,
    before_days: BEFORE_DAYS,
    holdout_percent: experiment.holdout_percent,
    drawn_since: experiment.drawn_since ?? null,
    goal_event: goal?.event ?? null,
    bonus_cost: reporting.bonus_cost,
    deductions: reporting.deductions.map(({ name }) => name),
    primary: goal === null ? 'money' : 'rate',
    waiting: total('waiting'),
    in_two_arms: total('in_two_arms'),
    balance: { p_value: judged.uneven_p, is_uneven: judged.is_uneven },
    held_out: figuresOf(held_out, goal !== null),
    arms: treated.map((data, i) => shownArm(data, judged.arms[i], { arms, cap, has_goal: goal !== null })),
  };
}

function shownArm(
  data: ArmData,
  said: ArmVerdict | undefined,
  { arms, cap, has_goal }: { arms: Experiment['arms']; cap: bigint | null; has_goal: boolean },
) {
  if (said === undefined) throw new Error(`nothing is said about the arm ${data.arm}`);
  const harm = Object.fromEntries(
    HARMS.map((name) => [name, { ...said.harm[name], interval: shownInterval(said.harm[name].interval) }]),
  ) as Record<Harm, unknown>;
  return {
    arm: data.arm,
    name: arms.find(({ arm: id }) => id === data.arm)?.name ?? null,
    ...figuresOf(data, has_goal),
    verdict: said.verdict,
    rate_effect: shownRate(said.rate),
    money_effect: shownMoney(said.money, cap),
    harm,
    return: shownReturn(said.money, data),
  };
}
