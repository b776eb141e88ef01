import { unsafeText } from '../../ingest/events/text-safety.ts';
import {
  COMPLEMENTS,
  OPERATOR_ALIASES,
  OPERATORS_OF,
  type Comparison,
  type Numeric,
  type Operator,
  type PositiveComparison,
  type PositiveOperator,
  type Scalar,
  type ValueKind,
} from './operators.ts';
import { MOMENT_EXAMPLE, momentMs, SPAN_EXAMPLE, spanMs, spanSchema } from './span.ts';
import { comparable } from '../../platform/exact-json.ts';

const MAX_TEXT = 1024;
/** Values of `in` and `nin`, unless the operand allows more. */
export const MAX_LIST = 500;
const TEXT = `a text of at most ${MAX_TEXT} characters without NUL or lone surrogates`;

/** The left side of a comparison. */
export interface Operand {
  kind: ValueKind;
  /** All allowed values, for fields with a fixed set of values. */
  values?: readonly string[] | undefined;
  /** How many values `in` and `nin` may list; absent: {@link MAX_LIST}. */
  max_values?: number | undefined;
}

/** Why a comparison is refused: the wrong key, and what would be allowed there. */
export interface ComparisonProblem {
  key: 'op' | 'value';
  message: string;
  /** What of the operator or value is wrong. */
  sent: unknown;
}

/** Checks an operator and its value against the operand. `value` must be absent with exists and not_exists. */
export function readComparison(
  operand: Operand,
  sent: { op: string; value?: unknown },
): Comparison | ComparisonProblem {
  const written = Object.hasOwn(sent, 'value') ? { op: sent.op, value: withIntegers(sent.value) } : sent;
  const op = OPERATOR_ALIASES[written.op] ?? (written.op as Operator);
  const allowed = OPERATORS_OF[operand.kind];
  if (!allowed.includes(op)) {
    return { key: 'op', message: `must be one of ${allowed.join(', ')}`, sent: written.op };
  }
  const complement = (COMPLEMENTS as Partial<Record<Operator, PositiveOperator>>)[op];
  const positive = readPositive(operand, complement ?? (op as PositiveOperator), written);
  return typeof positive === 'string'
    ? { key: 'value', message: positive, sent: wrongPart(operand, op, sent.value) }
    : { negated: complement !== undefined, positive };
}

/** The value with the numbers that a double does not hold as they are compared, itself or in its list. */
function withIntegers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(comparable) : comparable(value);
}

/** The part of a refused value that is wrong: of a list that is not too long, the first wrong element. */
function wrongPart(operand: Operand, op: Operator, value: unknown): unknown {
  if ((op !== 'in' && op !== 'nin') || !Array.isArray(value)) return value;
  if (value.length > (operand.max_values ?? MAX_LIST)) return value;
  const wrong = (value as unknown[]).findIndex((one) => !isScalar(operand, comparable(one)));
  return wrong < 0 ? value : (value as unknown[])[wrong];
}

/** The comparison, or as a text what its value must be. */
function readPositive(
  operand: Operand,
  op: PositiveOperator,
  written: { value?: unknown },
): PositiveComparison | string {
  const { value } = written;
  switch (op) {
    case 'exists':
      return Object.hasOwn(written, 'value') ? 'must be left out' : { op };
    case 'eq':
      return isScalar(operand, value) ? { op, value } : `must be ${scalarOf(operand)}`;
    case 'in':
      return isList(operand, value)
        ? { op, values: value }
        : `must be a list of 1 to ${operand.max_values ?? MAX_LIST}, each ${scalarOf(operand)}`;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return isNumber(value) ? { op, value } : 'must be a number';
    case 'between':
      return readBetween(operand.kind, value);
    case 'contains':
      return isScalar(operand.kind === 'json' ? operand : { kind: 'text' }, value)
        ? { op, value }
        : `must be ${scalarOf({ kind: operand.kind })}`;
    case 'starts_with':
      return isText(value) ? { op, value } : `must be ${TEXT}`;
    case 'before':
    case 'after': {
      const at_ms = typeof value === 'string' ? momentMs(value) : undefined;
      return at_ms === undefined ? `must be ${MOMENT_EXAMPLE}` : { op, at_ms };
    }
    case 'within_last': {
      const span = spanSchema.safeParse(value);
      return span.success ? { op, span_ms: spanMs(span.data) } : `must be ${SPAN_EXAMPLE}`;
    }
  }
}

/** `[low, high]` of numbers or of times, or as a text what it must be. */
function readBetween(kind: ValueKind, value: unknown): PositiveComparison | string {
  const wanted = kind === 'json' ? 'numbers or times' : kind === 'date' ? 'times' : 'numbers';
  const message = `must be [low, high], two ${wanted}, the lower first`;
  if (!Array.isArray(value) || value.length !== 2) return message;
  const [first, second] = value as unknown[];
  if (kind !== 'date' && isNumber(first) && isNumber(second)) {
    return first <= second ? { op: 'between', kind: 'number', low: first, high: second } : message;
  }
  if (kind === 'number' || typeof first !== 'string' || typeof second !== 'string') return message;
  const [low, high] = [momentMs(first), momentMs(second)];
  if (low === undefined || high === undefined || low > high) return message;
  return { op: 'between', kind: 'date', low, high };
}

function isList(operand: Operand, value: unknown): value is Scalar[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= (operand.max_values ?? MAX_LIST) &&
    value.every((one) => isScalar(operand, one))
  );
}

function isScalar({ kind, values }: Operand, value: unknown): value is Scalar {
  if (values !== undefined) return typeof value === 'string' && values.includes(value);
  if (kind === 'text') return isText(value);
  if (kind === 'number') return isNumber(value);
  return isText(value) || isNumber(value) || typeof value === 'boolean';
}

function scalarOf({ kind, values }: Operand): string {
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (kind === 'text') return TEXT;
  return kind === 'number' ? 'a number' : `true, false, a number or ${TEXT}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT && !unsafeText(value);
}

function isNumber(value: unknown): value is Numeric {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value));
}
