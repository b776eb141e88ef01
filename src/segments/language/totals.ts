import { isAlwaysInLedger } from '../../ledger/money/ledger.ts';
import { exactJson } from '../../platform/exact-json.ts';
import { intervalOf, type Interval } from '../sql/interval.ts';
import type { EventCondition, EventSet } from './conditions.ts';
import { isMoneyProperty, MONEY_PROPERTIES, type MoneyProperty } from './fields.ts';

/** A whole number over the events of a set, which each event adds to. Conditions with different values share it. */
export interface Total {
  set: EventSet;
  /** The column of money that is summed, of which a missing value adds 0; undefined: the events are counted. */
  column: (typeof MONEY_PROPERTIES)[MoneyProperty] | undefined;
}

/** A condition on a total: it must lie (`negated`: must not lie) within an interval. */
export interface TotalCondition {
  total: Total;
  within: Interval;
  negated: boolean;
}

/** The total that a condition compares with one range; undefined: it is a count or a sum of money in no such way. */
export function totalOf(condition: EventCondition): TotalCondition | undefined {
  const { aggregate, property = '', event, window, where, comparison } = condition;
  const is_money = isMoneyProperty(property, event) && isAlwaysInLedger(event, property);
  const within = intervalOf(comparison.positive);
  if (within === undefined || (aggregate !== 'count' && !(aggregate === 'sum' && is_money))) return undefined;
  const column = aggregate === 'sum' && is_money ? MONEY_PROPERTIES[property] : undefined;
  return { total: { set: { event, window, where }, column }, within, negated: comparison.negated };
}

/** Equal totals have the same name. */
export function nameOfTotal({ set: { event, window, where }, column }: Total): string {
  return exactJson([event, window, where, column ?? null]);
}
