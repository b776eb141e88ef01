import {
  excluded,
  included,
  lastMs,
  type Moment,
  type Numeric,
  type PositiveComparison,
  type Range,
} from './forms.ts';
import { SHAPES, type Operand, type OperandShape, type ShapeValues, type ValueKind } from './operands.ts';

// The operators of segment conditions. Everything that depends on an operator is derived from its entry here and from the
// form that it is read into.

/** An operator that asks something of a value. */
interface PositiveEntry {
  alias?: string;
  /** The shape of the value that it compares with. */
  value: OperandShape;
  /** It compares with a part of the value on the left, so with any text where that has a fixed set of values. */
  of_part?: true;
  /** The comparison with the value that was sent; undefined: that value is not allowed. */
  read: (value: unknown, operand: Operand) => PositiveComparison | undefined;
}

/** An operator that is the complement of a positive one, so that it also holds where the value is missing. */
interface NegativeEntry {
  alias?: string;
  complement_of: string;
}

/** An operator with a value of the shape, and the comparison that it is with this value. */
function reads<S extends OperandShape>(value: S, form: (value: ShapeValues[S]) => PositiveComparison) {
  return {
    value,
    read: (sent: unknown, operand: Operand) => {
      const read = SHAPES[value].read(sent, operand);
      return read === undefined ? undefined : form(read);
    },
  };
}
const numbers = (range: Range<Numeric>) => ({ form: 'numbers', range }) as const;
const times = (range: Range<Moment>) => ({ form: 'times', range }) as const;

/** Every operator, in the order in which they are listed. */
const ENTRIES = {
  eq: { alias: '=', ...reads('scalar', (value) => ({ form: 'one_of', values: [value] })) },
  neq: { alias: '!=', complement_of: 'eq' },
  gt: { alias: '>', ...reads('number', (value) => numbers({ low: excluded(value) })) },
  gte: { alias: '>=', ...reads('number', (value) => numbers({ low: included(value) })) },
  lt: { alias: '<', ...reads('number', (value) => numbers({ high: excluded(value) })) },
  lte: { alias: '<=', ...reads('number', (value) => numbers({ high: included(value) })) },
  in: reads('list', (values) => ({ form: 'one_of', values })),
  nin: { complement_of: 'in' },
  between: reads('range', (range) => range),
  contains: { of_part: true, ...reads('scalar', (value) => ({ form: 'contains', value })) },
  starts_with: reads('text', (value) => ({ form: 'starts_with', value })),
  exists: reads('none', () => ({ form: 'exists' })),
  not_exists: { complement_of: 'exists' },
  before: reads('moment', (moment) => times({ high: excluded(moment) })),
  after: reads('moment', (moment) => times({ low: excluded(moment) })),
  within_last: reads('span', (span_ms) => times(lastMs(span_ms))),
  not_within_last: { complement_of: 'within_last' },
} as const satisfies Record<string, PositiveEntry | NegativeEntry>;
export type Operator = keyof typeof ENTRIES;
export const OPERATORS = Object.keys(ENTRIES) as Operator[];

/** The operators that suit a kind of value, in the order in which they are offered. */
export const OPERATORS_OF: Readonly<Record<ValueKind, readonly Operator[]>> = {
  text: ['eq', 'neq', 'in', 'nin', 'contains', 'starts_with', 'exists', 'not_exists'],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'between', 'exists', 'not_exists'],
  date: ['before', 'after', 'between', 'within_last', 'not_within_last', 'exists', 'not_exists'],
  json: OPERATORS,
};

/** An operator as it is read: itself, or the positive one whose complement it is (null: of none). */
export function operatorOf(name: Operator): {
  aliases: string[];
  complement_of: Operator | null;
  positive: PositiveEntry;
} {
  const entry = ENTRIES[name];
  const aliases = 'alias' in entry ? [entry.alias] : [];
  return 'complement_of' in entry
    ? { aliases, complement_of: entry.complement_of, positive: ENTRIES[entry.complement_of] }
    : { aliases, complement_of: null, positive: entry };
}

/** Operators by their other names. */
export const OPERATOR_ALIASES: Readonly<Record<string, Operator>> = Object.fromEntries(
  OPERATORS.flatMap((name) => operatorOf(name).aliases.map((alias) => [alias, name])),
);
