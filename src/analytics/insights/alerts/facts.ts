import { JsonText } from '../../../platform/exact-json.ts';
import type { FiringFacts } from './queries.ts';
import { decimalOf, type Rational } from './rational.ts';
import type { Decision, Measured } from './rules.ts';

/** Decimal places of the limits of usual values. */
const PLACES = 6;

/** What is kept and shown of an interval that fires. */
export function factsOf({ cell }: Measured, decision: Decision): FiringFacts {
  const { before, low, high } =
    decision.kind === 'unknown' ? { before: null, low: null, high: null } : decision;
  return { value: cell, before, low: limit(low), high: limit(high) };
}

function limit(value: Rational | null): JsonText | null {
  return value === null ? null : new JsonText(decimalOf(value, PLACES));
}
