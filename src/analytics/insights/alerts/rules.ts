import { startBefore, startOfLocal } from '../../../platform/local-intervals.ts';
import type { TimeZone } from '../../../platform/time-zone.ts';
import type { Cell } from '../kind.ts';
import {
  compare,
  fraction,
  medianOf,
  minus,
  parseDecimal,
  sizeOf,
  times,
  whole,
  type Rational,
} from './rational.ts';
import { MIN_WEEKS, WEEKS, type Condition, type Op } from './schema.ts';

const WEEK_MS = 7 * 86_400_000;
/** 4 × 1.4826: so many median absolute deviations are four standard deviations of a normal distribution. */
const WIDTH: Rational = { numerator: 59_304n, denominator: 10_000n };

/** The value of an interval. */
export interface Measured {
  /** As the answer of a query has it. */
  cell: Cell;
  /** Null: the interval has no value, such as a rate of nothing. */
  amount: Rational | null;
  /** How much it rests on: of a rate the size of its denominator, else the size of the value. */
  volume: Rational;
}

/** What was compared with: of a change the value before, of an unusual value from where to where values are usual. */
export interface Compared {
  before: Cell;
  low: Rational | null;
  high: Rational | null;
}

/** `unknown`: there is no value, or nothing to compare it with. */
export type Decision = ({ kind: 'fires' | 'quiet' } & Compared) | { kind: 'unknown' };

type Step = 'hour' | 'day';

/**
 * The beginnings of the intervals with whose values a condition compares that of the interval which begins at `at_ms`, the
 * nearest first: of earlier weeks the interval at the same local time.
 */
export function comparedStarts(condition: Condition, step: Step, at_ms: number, zone: TimeZone): number[] {
  if (condition.kind === 'threshold') return [];
  if (condition.kind === 'change' && condition.against === 'previous')
    return [startBefore(zone, step, at_ms, 1)];
  const weeks = condition.kind === 'change' ? 1 : WEEKS;
  return Array.from({ length: weeks }, (_, i) => {
    const { first_ms } = zone.momentsOf(zone.localMs(at_ms) - (i + 1) * WEEK_MS);
    return startOfLocal(zone, step, first_ms);
  });
}

/** Whether a value fires; `compared` are the values of {@link comparedStarts}, in their order. */
export function decide(condition: Condition, value: Measured, compared: readonly Measured[]): Decision {
  const { amount } = value;
  if (amount === null) return { kind: 'unknown' };
  switch (condition.kind) {
    case 'threshold': {
      return verdict(holds(condition.op, amount, parseDecimal(condition.value.toFixed(6))), {});
    }
    case 'change': {
      const [before] = compared;
      const base = before?.amount ?? null;
      if (before === undefined || base === null || base.numerator === 0n) return { kind: 'unknown' };
      // Without dividing: (value − before) × 10,000 against bp × |before|.
      const change = times(minus(amount, base), whole(10_000n));
      const limit = times(sizeOf(base), whole(BigInt(condition.bp)));
      return verdict(holds(condition.op, change, limit), { before: before.cell });
    }
    case 'unusual':
      return unusual(BigInt(condition.minimum), { ...value, amount }, compared);
  }
}

function unusual(
  minimum: bigint,
  { amount, volume }: Measured & { amount: Rational },
  compared: readonly Measured[],
): Decision {
  const known = knownWeeks(compared).flatMap((one) =>
    one.amount === null ? [] : [{ ...one, amount: one.amount }],
  );
  if (known.length < MIN_WEEKS) return { kind: 'unknown' };
  const median = medianOf(known.map((one) => one.amount));
  const deviation = medianOf(known.map((one) => sizeOf(minus(one.amount, median))));
  const reach = times(WIDTH, deviation);
  const low = minus(median, reach);
  const high = minus(median, { ...reach, numerator: -reach.numerator });
  const usual_volume = medianOf(known.map((one) => one.volume));
  const is_large = [volume, usual_volume].some((one) => compare(one, whole(minimum)) >= 0n);
  const is_outside = compare(amount, low) < 0n || compare(amount, high) > 0n;
  return verdict(is_large && is_outside, { low, high });
}

/** Without the weeks before the first one with any volume: the project, or the metric, did not exist then. */
function knownWeeks(nearest_first: readonly Measured[]): readonly Measured[] {
  const oldest = nearest_first.findLastIndex(({ volume }) => volume.numerator > 0n);
  return nearest_first.slice(0, oldest + 1);
}

function verdict(fires: boolean, compared: Partial<Compared>): Decision {
  return { kind: fires ? 'fires' : 'quiet', before: null, low: null, high: null, ...compared };
}

function holds(op: Op, value: Rational, limit: Rational): boolean {
  const difference = compare(value, limit);
  switch (op) {
    case 'gt':
      return difference > 0n;
    case 'gte':
      return difference >= 0n;
    case 'lt':
      return difference < 0n;
    case 'lte':
      return difference <= 0n;
  }
}

/** The value of a cell of a trend. */
export function measuredOf(cell: Cell): Measured {
  const nothing = { cell, amount: null, volume: whole(0n) };
  if (cell === null || typeof cell === 'boolean' || typeof cell === 'string') return nothing;
  if (typeof cell === 'object' && 'numerator' in cell) {
    const amount = fraction(cell.numerator, cell.denominator);
    return { cell, amount, volume: sizeOf(whole(cell.denominator)) };
  }
  const amount =
    typeof cell === 'bigint'
      ? whole(cell)
      : parseDecimal(typeof cell === 'number' ? String(cell) : cell.text);
  return { cell, amount, volume: sizeOf(amount) };
}
