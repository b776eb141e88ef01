import { comparable } from '../../platform/exact-json.ts';
import type { Comparison } from './forms.ts';
import { mostValues, SHAPES, type Operand, type OperandShape } from './operands.ts';
import { OPERATOR_ALIASES, operatorOf, OPERATORS_OF, type Operator } from './operators.ts';

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
  { op, value: sent }: { op: string; value?: unknown },
): Comparison | ComparisonProblem {
  const name = OPERATOR_ALIASES[op] ?? (op as Operator);
  const suitable = OPERATORS_OF[operand.kind];
  if (!suitable.includes(name)) {
    return { key: 'op', message: `must be one of ${suitable.join(', ')}`, sent: op };
  }
  const { complement_of, positive: entry } = operatorOf(name);
  const left = entry.of_part === true ? { kind: operand.kind } : operand;
  const positive = entry.read(withIntegers(sent), left);
  if (positive !== undefined) return { negated: complement_of !== null, positive };
  const message = `must be ${SHAPES[entry.value].allowed(left)}`;
  return { key: 'value', message, sent: wrongPart(left, entry.value, sent) };
}

/** The value with the numbers that a double does not hold as they are compared, itself or in its list. */
function withIntegers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(comparable) : comparable(value);
}

/** The part of a refused value that is wrong: of a list that is not too long, the first wrong element. */
function wrongPart(operand: Operand, shape: OperandShape, value: unknown): unknown {
  if (shape !== 'list' || !Array.isArray(value) || value.length > mostValues(operand)) return value;
  const elements = value as unknown[];
  const wrong = elements.findIndex((one) => SHAPES.scalar.read(comparable(one), operand) === undefined);
  return wrong < 0 ? value : elements[wrong];
}
