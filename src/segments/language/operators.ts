// The operators of segment conditions, the kinds of values that they suit, and the values that they compare with.

export const OPERATORS = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'between',
  'contains',
  'starts_with',
  'exists',
  'not_exists',
  'before',
  'after',
  'within_last',
  'not_within_last',
] as const;
export type Operator = (typeof OPERATORS)[number];

export const OPERATOR_ALIASES: Readonly<Record<string, Operator>> = {
  '=': 'eq',
  '!=': 'neq',
  '>': 'gt',
  '>=': 'gte',
  '<': 'lt',
  '<=': 'lte',
};

/** Each negative operator is the complement of a positive one, so it also holds where the value is missing. */
export const COMPLEMENTS = {
  neq: 'eq',
  nin: 'in',
  not_exists: 'exists',
  not_within_last: 'within_last',
} as const satisfies Partial<Record<Operator, Operator>>;
type Negative = keyof typeof COMPLEMENTS;
export type PositiveOperator = Exclude<Operator, Negative>;

/** The kind of the value on the left; `json`: any value, compared by its stored JSON type. */
export type ValueKind = 'text' | 'number' | 'date' | 'json';

/** The operators that suit a kind of value. */
export const OPERATORS_OF: Readonly<Record<ValueKind, readonly Operator[]>> = {
  text: ['eq', 'neq', 'in', 'nin', 'contains', 'starts_with', 'exists', 'not_exists'],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'between', 'exists', 'not_exists'],
  date: ['before', 'after', 'between', 'within_last', 'not_within_last', 'exists', 'not_exists'],
  json: OPERATORS,
};

/**
 * What an operator is compared with: nothing, a value of the kind on the left, a list of these, a number, a text, `[low,
 * high]`, a time, or a span of time.
 */
export const OPERAND_SHAPES = [
  'none',
  'scalar',
  'list',
  'number',
  'text',
  'range',
  'moment',
  'span',
] as const;
export type OperandShape = (typeof OPERAND_SHAPES)[number];

/** The shape of the value of each positive operator; a negative one has that of its complement. */
export const SHAPE_OF: Readonly<Record<PositiveOperator, OperandShape>> = {
  eq: 'scalar',
  in: 'list',
  gt: 'number',
  gte: 'number',
  lt: 'number',
  lte: 'number',
  between: 'range',
  contains: 'scalar',
  starts_with: 'text',
  exists: 'none',
  before: 'moment',
  after: 'moment',
  within_last: 'span',
};

/** A number to compare with; an integer that is not a safe one is a bigint. */
export type Numeric = number | bigint;
export type Scalar = string | Numeric | boolean;

/** A positive comparison with its checked value; dates are milliseconds since the epoch, spans milliseconds. */
export type PositiveComparison =
  | { op: 'eq'; value: Scalar }
  | { op: 'in'; values: readonly Scalar[] }
  | { op: 'gt' | 'gte' | 'lt' | 'lte'; value: Numeric }
  | { op: 'between'; kind: 'number'; low: Numeric; high: Numeric }
  | { op: 'between'; kind: 'date'; low: number; high: number }
  | { op: 'contains'; value: Scalar }
  | { op: 'starts_with'; value: string }
  | { op: 'exists' }
  | { op: 'before' | 'after'; at_ms: number }
  | { op: 'within_last'; span_ms: number };

/** A positive comparison, or (`negated`) its complement. */
export interface Comparison {
  negated: boolean;
  positive: PositiveComparison;
}
