import type { Comparison, Moment, Numeric, PositiveComparison, Range, Scalar } from '../language/forms.ts';
import { parameterLists, type Bindings } from './bindings.ts';

/** Decimals of exact sums; further decimals of a property are cut off. */
export const DECIMAL_SCALE = 18;
/** Digits of exact numbers. */
export const DECIMAL_DIGITS = 76;

/** An expression with a value per player (or per event), and how it is compared. */
export type Operand =
  | { kind: 'text' | 'date'; sql: string; nullable: boolean }
  | {
      kind: 'number';
      sql: string;
      nullable: boolean;
      /** Its type in ClickHouse; `decimal` is exact to {@link DECIMAL_SCALE} decimals. */
      held_as: 'integer' | 'float' | 'decimal';
      /**
       * An expression for a count: `sql` is the total over so many values, and their mean is compared. The other side
       * is multiplied by the count, which keeps the comparison exact.
       */
      mean_of?: string;
    };

/** The ends of a range as comparisons with them. */
export function endsOf<Value>({ low, high }: Range<Value>) {
  return [
    ...(low === undefined ? [] : [{ sign: '>' as const, ...low }]),
    ...(high === undefined ? [] : [{ sign: '<' as const, ...high }]),
  ];
}

/** What must hold of a time so that it lies in the range. */
export function timesSql(sql: string, range: Range<Moment>, bindings: Bindings): string[] {
  return endsOf(range).map(
    ({ sign, is_included, value }) => `${sql} ${sign}${is_included ? '=' : ''} ${moment(value, bindings)}`,
  );
}

function moment(value: Moment, bindings: Bindings): string {
  const now = '{now_ms:Int64}';
  const ms =
    'at_ms' in value
      ? bindings.bind('Int64', value.at_ms)
      : value.ago_ms === 0
        ? now
        : `${now} - ${bindings.bind('Int64', value.ago_ms)}`;
  return `fromUnixTimestamp64Milli(${ms}, 'UTC')`;
}

/** The comparison as an expression that is 0 or 1, never null: a missing value satisfies no positive comparison. */
export function comparisonSql(
  operand: Operand,
  { negated, positive }: Comparison,
  bindings: Bindings,
): string {
  const condition = positiveSql(operand, positive, bindings);
  const sure = operand.nullable && positive.form !== 'exists' ? `ifNull(${condition}, 0)` : condition;
  return negated ? `not (${sure})` : sure;
}

function positiveSql(operand: Operand, positive: PositiveComparison, bindings: Bindings): string {
  const { sql } = operand;
  switch (positive.form) {
    case 'exists':
      return operand.nullable ? `${sql} is not null` : '1';
    case 'one_of':
      return equalsSql(operand, positive.values, bindings);
    case 'contains':
      return `position(${sql}, ${bindings.bind('String', positive.value)}) > 0`;
    case 'starts_with':
      return `startsWith(${sql}, ${bindings.bind('String', positive.value)})`;
    case 'numbers':
      return endsOf(positive.range)
        .map(
          ({ sign, is_included, value }) =>
            `${sql} ${sign}${is_included ? '=' : ''} ${numberSql(operand, value, bindings)}`,
        )
        .join(' and ');
    case 'times':
      return timesSql(sql, positive.range, bindings).join(' and ');
  }
}

/**
 * Equal to one of the values. They are bound as one list where possible: there may be hundreds of values, and a
 * comparison per value takes hundreds of characters. A list too long for one parameter takes several.
 */
function equalsSql(operand: Operand, values: readonly Scalar[], bindings: Bindings): string {
  const { kind, sql } = operand;
  if (kind !== 'number') {
    if (values.length === 1) return `${sql} = ${bindings.bind('String', values[0])}`;
    // A set: thousands of values cost as much per player as a few.
    const sets = parameterLists(values).map((list) => `${sql} in ${bindings.bind('Array(String)', list)}`);
    return sets.length === 1 ? (sets[0] ?? '0') : `(${sets.join(' or ')})`;
  }
  const numbers = values.map((value) => (typeof value === 'bigint' ? value : Number(value)));
  const listed = numbers.length === 1 ? [] : numbers.filter((value) => canBeListed(operand, value));
  const single = numbers.filter((value) => !canBeListed(operand, value) || listed.length === 0);
  const alternatives = [
    ...(listed.length > 0 ? [listedSql(operand, listed, bindings)] : []),
    ...single.map((value) => `${sql} = ${numberSql(operand, value, bindings)}`),
  ];
  return alternatives.length === 1 ? (alternatives[0] ?? '0') : `(${alternatives.join(' or ')})`;
}

/** Whether a list of the operand's type holds the number exactly. */
function canBeListed(operand: Operand, value: Numeric): value is number {
  if (operand.kind !== 'number' || operand.held_as === 'decimal' || typeof value === 'bigint') return false;
  return Number.isSafeInteger(value) || (operand.held_as === 'float' && !Number.isInteger(value));
}

/** A membership test in one list. Integers are compared as Int128, because sums of money are wider than Int64. */
function listedSql(operand: Operand, values: readonly Numeric[], bindings: Bindings): string {
  const { sql } = operand;
  return operand.kind === 'number' && operand.held_as === 'integer'
    ? `has(${bindings.bind('Array(Int128)', values)}, toInt128(${sql}))`
    : `has(${bindings.bind('Array(Float64)', values)}, ${sql})`;
}

/** The right side of a comparison with a number, bound as the operand's type. */
function numberSql(operand: Operand, value: Numeric, bindings: Bindings): string {
  if (operand.kind !== 'number') return bindings.bind('Float64', Number(value));
  const { held_as, mean_of } = operand;
  if (held_as === 'decimal') {
    const exact = bindings.bind(`Decimal(${DECIMAL_DIGITS}, ${DECIMAL_SCALE})`, decimalText(value));
    return mean_of === undefined ? exact : `${exact} * ${mean_of}`;
  }
  if (held_as !== 'integer') return bindings.bind('Float64', Number(value));
  if (typeof value === 'bigint') return bindings.bind('Int256', String(clampedTo256Bits(value)));
  return bindings.bind(Number.isSafeInteger(value) ? 'Int64' : 'Float64', value);
}

/** No integer of a column or sum is as large as the bounds. */
function clampedTo256Bits(value: bigint): bigint {
  const bound = 2n ** 255n - 1n;
  return value > bound ? bound : value < -bound ? -bound : value;
}

/** A number in plain digits, cut off after {@link DECIMAL_SCALE} decimals, and at most the largest of the type. */
export function decimalText(value: Numeric): string {
  const scaled = typeof value === 'bigint' ? (value < 0n ? -value : value) * ONE : scaledOf(Math.abs(value));
  const limit = 10n ** BigInt(DECIMAL_DIGITS) - 1n;
  const text = String(scaled > limit ? limit : scaled).padStart(DECIMAL_SCALE + 1, '0');
  const sign = value < 0 ? '-' : '';
  return `${sign}${text.slice(0, -DECIMAL_SCALE)}.${text.slice(-DECIMAL_SCALE)}`;
}

const ONE = 10n ** BigInt(DECIMAL_SCALE);

/** The digits of a number that is not negative, with {@link DECIMAL_SCALE} decimals. */
function scaledOf(value: number): bigint {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = Number(exponent) - fraction.length + DECIMAL_SCALE;
  const unscaled = BigInt(whole + fraction);
  return shift >= 0 ? unscaled * 10n ** BigInt(shift) : unscaled / 10n ** BigInt(Math.min(-shift, 400));
}
