import { unsafeText } from '../../ingest/events/text-safety.ts';
import {
  included,
  isNumeric,
  type Moment,
  type Numeric,
  type PositiveComparison,
  type Range,
  type Scalar,
} from './forms.ts';
import { MOMENT_EXAMPLE, momentMs, SPAN_EXAMPLE, spanMs, spanSchema } from './span.ts';

const MAX_TEXT = 1024;
/** Values of `in` and `nin`, unless the operand allows more. */
export const MAX_LIST = 500;
const TEXT = `a text of at most ${MAX_TEXT} characters without NUL or lone surrogates`;

/** The kind of the value on the left; `json`: any value, compared by its stored JSON type. */
export type ValueKind = 'text' | 'number' | 'date' | 'json';

/** The left side of a comparison. */
export interface Operand {
  kind: ValueKind;
  /** All allowed values, for fields with a fixed set of values. */
  values?: readonly string[] | undefined;
  /** How many values `in` and `nin` may list; absent: {@link MAX_LIST}. */
  max_values?: number | undefined;
}

/** The right side of a comparison as it is read, by its shape. */
export interface ShapeValues {
  none: null;
  /** A value of the kind on the left. */
  scalar: Scalar;
  list: readonly Scalar[];
  number: Numeric;
  text: string;
  /** `[low, high]`, numbers or times. */
  range: Extract<PositiveComparison, { range: unknown }>;
  moment: Moment;
  /** Milliseconds. */
  span: number;
}
/** The shape of the right side: `none` where there is none. */
export type OperandShape = keyof ShapeValues;

interface Shape<Value> {
  /** What is allowed, as it follows "must be". */
  allowed: (operand: Operand) => string;
  /** The value that was sent as it is compared; undefined: it is not allowed. */
  read: (value: unknown, operand: Operand) => Value | undefined;
}

/** How each shape is read. */
export const SHAPES: { readonly [S in OperandShape]: Shape<ShapeValues[S]> } = {
  none: { allowed: () => 'omitted', read: (value) => (value === undefined ? null : undefined) },
  scalar: { allowed: scalarsOf, read: (value, operand) => (isScalar(operand, value) ? value : undefined) },
  list: {
    allowed: (operand) => `a list of 1 to ${mostValues(operand)}, each ${scalarsOf(operand)}`,
    read: (value, operand) => (isList(operand, value) ? value : undefined),
  },
  number: { allowed: () => 'a number', read: (value) => (isNumber(value) ? value : undefined) },
  text: { allowed: () => TEXT, read: (value) => (isText(value) ? value : undefined) },
  range: {
    allowed: ({ kind }) => {
      const wanted = kind === 'json' ? 'numbers or times' : kind === 'date' ? 'times' : 'numbers';
      return `[low, high], two ${wanted}, the lower first`;
    },
    read: readRange,
  },
  moment: {
    allowed: () => MOMENT_EXAMPLE,
    read: (value) => {
      const at_ms = typeof value === 'string' ? momentMs(value) : undefined;
      return at_ms === undefined ? undefined : { at_ms };
    },
  },
  span: {
    allowed: () => SPAN_EXAMPLE,
    read: (value) => {
      const span = spanSchema.safeParse(value);
      return span.success ? spanMs(span.data) : undefined;
    },
  },
};
export const OPERAND_SHAPES = Object.keys(SHAPES) as OperandShape[];

/** How many values a list may have. */
export function mostValues({ max_values = MAX_LIST }: Operand): number {
  return max_values;
}

function readRange(value: unknown, { kind }: Operand): ShapeValues['range'] | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [first, second] = value as unknown[];
  if (kind !== 'date' && isNumber(first) && isNumber(second)) {
    return first <= second ? { form: 'numbers', range: closed(first, second) } : undefined;
  }
  if (kind === 'number' || typeof first !== 'string' || typeof second !== 'string') return undefined;
  const [low, high] = [momentMs(first), momentMs(second)];
  if (low === undefined || high === undefined || low > high) return undefined;
  return { form: 'times', range: closed({ at_ms: low }, { at_ms: high }) };
}

function closed<Value>(low: Value, high: Value): Range<Value> {
  return { low: included(low), high: included(high) };
}

function isList(operand: Operand, value: unknown): value is Scalar[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= mostValues(operand) &&
    value.every((one) => isScalar(operand, one))
  );
}

function isScalar({ kind, values }: Operand, value: unknown): value is Scalar {
  if (values !== undefined) return typeof value === 'string' && values.includes(value);
  if (kind === 'text') return isText(value);
  if (kind === 'number') return isNumber(value);
  return isText(value) || isNumber(value) || typeof value === 'boolean';
}

function scalarsOf({ kind, values }: Operand): string {
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (kind === 'text') return TEXT;
  return kind === 'number' ? 'a number' : `true, false, a number or ${TEXT}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT && !unsafeText(value);
}

function isNumber(value: unknown): value is Numeric {
  return isNumeric(value) && (typeof value === 'bigint' || Number.isFinite(value));
}
