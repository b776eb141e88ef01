import type { Comparison, PositiveComparison, Scalar } from '../language/operators.ts';
import type { Bindings } from './bindings.ts';
import { comparisonSql, DECIMAL_SCALE } from './comparison-sql.ts';

/** The value under `key` (not a path) of a column that holds a JSON object as text. */
export interface JsonValue {
  column: string;
  key: string;
}

/**
 * Compares a value by its stored JSON type: '12' does not equal 12. ClickHouse converts between types when it extracts
 * a value, so the expression checks the type wherever a value of another type could be extracted as the same.
 */
export function jsonComparisonSql(
  value: JsonValue,
  { negated, positive }: Comparison,
  bindings: Bindings,
): string {
  const condition = positiveSql(jsonParts(value, bindings), positive, bindings);
  return negated ? `not (${condition})` : condition;
}

/** The value as a double; null where it is no number. */
export function jsonNumber(value: JsonValue, bindings: Bindings): string {
  const { is_number, number } = jsonParts(value, bindings);
  return `if(${is_number}, ${number}, null)`;
}

/** The value as an exact decimal; 0 where it is no number. */
export function jsonDecimal(value: JsonValue, bindings: Bindings): string {
  const { is_number, raw } = jsonParts(value, bindings);
  return `if(${is_number}, ifNull(toDecimal256OrNull(${raw}, ${DECIMAL_SCALE}), 0), 0)`;
}

/** Whether the value is a number. */
export function isJsonNumber(value: JsonValue, bindings: Bindings): string {
  return jsonParts(value, bindings).is_number;
}

/** The value as JSON text; null where it is missing. */
export function jsonText(value: JsonValue, bindings: Bindings): string {
  const { type, raw } = jsonParts(value, bindings);
  return `if(${type} = 'Null', null, ${raw})`;
}

/** The value as a moment; null unless it is ISO-8601 text: a date, or a time with an offset. */
export function jsonDate(value: JsonValue, bindings: Bindings): string {
  const { type, text } = jsonParts(value, bindings);
  const is_date = `${type} = 'String' and match(${text}, '${ISO_8601}')`;
  return `if(${is_date}, parseDateTime64BestEffortOrNull(${text}, 3, 'UTC'), null)`;
}

/** Without the year 0000, which ClickHouse reads as the current year. */
const YEAR = '([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])';
/** ClickHouse takes 00 as the first month or day, and counts on where a time is out of range. */
const DAY = `${YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])`;
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9]';
/** Without backslashes, which are escapes in a ClickHouse string literal. */
const ISO_8601 = `^${DAY}(T${TIME}(:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-]${TIME}))?$`;

type Parts = ReturnType<typeof jsonParts>;

/** The expressions that read a JSON value: its type, and the value extracted as each type. */
function jsonParts({ column, key }: JsonValue, bindings: Bindings) {
  const args = `${column}, ${bindings.bind('String', key)}`;
  const type = `JSONType(${args})`;
  return {
    type,
    is_number: `${type} in ('Int64', 'UInt64', 'Double')`,
    text: `JSONExtractString(${args})`,
    number: `JSONExtractFloat(${args})`,
    boolean: `JSONExtractBool(${args})`,
    raw: `JSONExtractRaw(${args})`,
    elements: `JSONExtractArrayRaw(${args})`,
    date: () => jsonDate({ column, key }, bindings),
  };
}

function positiveSql(parts: Parts, positive: PositiveComparison, bindings: Bindings): string {
  switch (positive.op) {
    case 'exists':
      return `${parts.type} != 'Null'`;
    case 'eq':
      return equalsSql(parts, [positive.value], bindings);
    case 'in':
      return equalsSql(parts, positive.values, bindings);
    case 'contains':
      return containsSql(parts, positive.value, bindings);
    case 'starts_with':
      return `(${parts.type} = 'String' and ${asText(parts.text, positive, bindings)})`;
    case 'before':
    case 'after':
    case 'within_last':
      return asDate(parts, positive, bindings);
    case 'between':
      if (positive.kind === 'date') return asDate(parts, positive, bindings);
      return asNumber(parts, positive, bindings);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return asNumber(parts, positive, bindings);
  }
}

function asText(sql: string, positive: PositiveComparison, bindings: Bindings): string {
  return comparisonSql({ kind: 'text', sql, nullable: false }, { negated: false, positive }, bindings);
}

function asNumber({ is_number, number }: Parts, positive: PositiveComparison, bindings: Bindings): string {
  const operand = { kind: 'number', held_as: 'float', sql: number, nullable: false } as const;
  return `(${is_number} and ${comparisonSql(operand, { negated: false, positive }, bindings)})`;
}

function asDate(parts: Parts, positive: PositiveComparison, bindings: Bindings): string {
  const operand = { kind: 'date', sql: parts.date(), nullable: true } as const;
  return comparisonSql(operand, { negated: false, positive }, bindings);
}

/** Equal to one of the values, each compared by its own type. */
function equalsSql(parts: Parts, values: readonly Scalar[], bindings: Bindings): string {
  const texts = values.filter((value) => typeof value === 'string');
  const numbers = values.filter((value) => typeof value === 'number');
  const alternatives = [
    ...(texts.length > 0 ? [equalsText(parts, texts, bindings)] : []),
    ...(numbers.length > 0 ? [asNumber(parts, { op: 'in', values: numbers }, bindings)] : []),
    ...[true, false]
      .filter((value) => values.includes(value))
      .map((value) => `(${parts.type} = 'Bool' and ${parts.boolean} = ${value})`),
  ];
  return alternatives.length === 1 ? (alternatives[0] ?? '0') : `(${alternatives.join(' or ')})`;
}

function equalsText(parts: Parts, texts: readonly string[], bindings: Bindings): string {
  const equals = asText(parts.text, { op: 'in', values: texts }, bindings);
  // From a value of another type ClickHouse extracts JSON text or nothing: only such texts need a check of the type.
  return texts.some((text) => text === '' || isJson(text))
    ? `(${parts.type} = 'String' and ${equals})`
    : equals;
}

function containsSql(parts: Parts, value: Scalar, bindings: Bindings): string {
  const element = `arrayExists(x -> ${elementEquals(value, bindings)}, ${parts.elements})`;
  const in_list = `(${parts.type} = 'Array' and ${element})`;
  if (typeof value !== 'string') return in_list;
  const in_text = asText(parts.text, { op: 'contains', value }, bindings);
  return `((${parts.type} = 'String' and ${in_text}) or ${in_list})`;
}

function elementEquals(value: Scalar, bindings: Bindings): string {
  if (typeof value === 'string') {
    return `(JSONType(x) = 'String' and JSONExtractString(x) = ${bindings.bind('String', value)})`;
  }
  if (typeof value === 'boolean') return `x = '${value}'`;
  const number = bindings.bind('Float64', value);
  return `(JSONType(x) in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(x) = ${number})`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
