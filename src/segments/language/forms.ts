// The forms of comparisons. Operators are read into a few forms, so that all code that works with comparisons (SQL, the judgement
// of a single value, harm) knows these and no operators.

/** A number to compare with; an integer that is not a safe one is a bigint. */
export type Numeric = number | bigint;
export type Scalar = string | Numeric | boolean;

/** Whether the value is a number to compare with or to be compared. */
export function isNumeric(value: unknown): value is Numeric {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** An end of a range. */
export interface Bound<Value> {
  value: Value;
  is_included: boolean;
}

/** The values between two ends; an absent end is infinite. */
export interface Range<Value> {
  low?: Bound<Value> | undefined;
  high?: Bound<Value> | undefined;
}

/** A moment in milliseconds since the epoch, or so many milliseconds before now. */
export type Moment = { at_ms: number } | { ago_ms: number };

/** What a comparison asks of a value. No form holds for a missing one. */
export type PositiveComparison =
  | { form: 'exists' }
  | { form: 'one_of'; values: readonly Scalar[] }
  | { form: 'contains'; value: Scalar }
  | { form: 'starts_with'; value: string }
  | { form: 'numbers'; range: Range<Numeric> }
  | { form: 'times'; range: Range<Moment> };

/** A positive comparison, or (`negated`) its complement. */
export interface Comparison {
  negated: boolean;
  positive: PositiveComparison;
}

/** An end that is part of its range. */
export function included<Value>(value: Value): Bound<Value> {
  return { value, is_included: true };
}

/** An end that is not part of its range. */
export function excluded<Value>(value: Value): Bound<Value> {
  return { value, is_included: false };
}

/** The time since `span_ms` ago, up to now. */
export function lastMs(span_ms: number): Range<Moment> {
  return { low: excluded({ ago_ms: span_ms }), high: included({ ago_ms: 0 }) };
}

/** How many milliseconds back the times reach that a comparison asks for; undefined: they do not move with the clock. */
export function passingMs({ positive }: Comparison): number | undefined {
  const low = positive.form === 'times' ? positive.range.low : undefined;
  return low !== undefined && 'ago_ms' in low.value ? low.value.ago_ms : undefined;
}

/** The range in milliseconds since the epoch, at the time `now_ms`. */
export function timesAt({ low, high }: Range<Moment>, now_ms: number): Range<number> {
  const at = (bound: Bound<Moment> | undefined) =>
    bound && { ...bound, value: 'at_ms' in bound.value ? bound.value.at_ms : now_ms - bound.value.ago_ms };
  return { low: at(low), high: at(high) };
}
