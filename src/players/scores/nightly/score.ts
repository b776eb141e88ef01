import { chanceOfReturn, expectedDays, type PurchaseParameters } from '../models/purchases.ts';
import { expectedAmount, type SpendingParameters } from '../models/spending.ts';
import type { DefaultScores } from '../decide.ts';
import type { Depositor } from './deposit-queries.ts';
import { RETURN_DAYS } from './fit.ts';
import { weeksOf } from './histories.ts';

/** `ltv_predicted` is about so many days. */
const VALUE_DAYS = 365;
const SCORE_DECIMALS = 4;

/** What scores are computed with. */
export interface ScoringModel {
  purchases: PurchaseParameters;
  spending: SpendingParameters;
  /** The revenue of a deposited unit; undefined: nothing is deposited. */
  ngr_per_deposit: number | undefined;
}

/**
 * The scores of a player at the end of `day`: the chance that no day of the next 30 has a deposit, and what the deposits of the
 * next 365 days bring, in the smallest unit of the base currency. Excluded players have no predicted value.
 */
export function scoreOf(
  { purchases, spending, ngr_per_deposit }: ScoringModel,
  { first_day, last_day, days, amount }: Depositor,
  day: number,
  is_barred: boolean,
): DefaultScores {
  const history = { repeats: days - 1, last: weeksOf(last_day - first_day), age: weeksOf(day - first_day) };
  const returns = chanceOfReturn('mbg', purchases, history, weeksOf(RETURN_DAYS));
  const churn_score = Number((1 - returns).toFixed(SCORE_DECIMALS));
  if (is_barred || ngr_per_deposit === undefined) return { churn_score, ltv_predicted: null };
  // Far from what it was fitted on, the series may end in noise: there is at most a deposit-day a day.
  const expected = Math.min(
    Math.max(expectedDays('mbg', purchases, history, weeksOf(VALUE_DAYS)), 0),
    VALUE_DAYS,
  );
  const deposits = expected * expectedAmount(spending, { days, mean: amount / days });
  const value = Math.round(deposits * ngr_per_deposit);
  return { churn_score, ltv_predicted: Number.isFinite(value) ? value : null };
}

/** Revenue per deposited unit, of sums as digits; undefined: nothing is deposited. */
export function ngrPerDeposit({
  ngr,
  total_deposited,
}: Record<'ngr' | 'total_deposited', string>): number | undefined {
  const deposited = Number(total_deposited);
  return deposited > 0 ? Number(ngr) / deposited : undefined;
}
