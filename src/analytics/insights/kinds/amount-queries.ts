import { validationError } from '../../../errors.ts';
import { BET_EVENTS } from '../../../ledger/money/ledger.ts';
import { sumOfTerms } from '../../../ledger/money/ngr-sql.ts';
import { termsOf, type BonusCostSource } from '../metrics/dictionary.ts';
import { ACTIVITY, MEASURE_SQL, type MeasureSql, type Measure } from '../metrics/measure-queries.ts';
import { AT_MS, type Amount } from './events-queries.ts';

/** Metrics of money of which each player has a part. */
export type MoneyName = 'deposits' | 'wagered' | 'ggr' | 'ngr';

/**
 * What each event adds to a metric; of NGR before deductions. Throws VALIDATION_ERROR where it is not made of events: NGR of a
 * project whose bonus cost comes from its grants. `path`: of the metric in the query.
 */
export function moneyAmount(name: MoneyName, source: BonusCostSource, path: string): Amount {
  const terms = Object.entries(termsOf(name, source)) as [Measure, 1 | -1][];
  return sumOfTerms(terms.map(([measure, times]) => [ofEvents(MEASURE_SQL[measure], path), times]));
}

/** What each event adds to a measure. */
export function measureAmount(measure: MeasureSql, path: string): Amount {
  return ofEvents(measure, path);
}

function ofEvents({ source, events, adds }: MeasureSql, path: string): Amount {
  if (source !== 'events' || events === undefined || adds === undefined)
    throw validationError([
      { path, message: 'is made of grants in this project (config.reporting.bonus_cost): ask for ggr' },
    ]);
  return { events, adds };
}

/** How many stakes a player has placed: rows that add a stake. */
export const BETS: Amount = { events: BET_EVENTS, adds: 'toInt128(stake_counted > 0)' };

/** On how many days a player was active; `days` is an expression for a list of their beginnings. */
export function activeDays(days: string): Amount {
  return { events: ACTIVITY, adds: `roundDown(${AT_MS}, ${days})`, is_distinct: true };
}
