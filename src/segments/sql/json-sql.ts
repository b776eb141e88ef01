import { storedElement, storedNumberPattern } from '../../analytics/stored-json.ts';
import { shortestInteger } from '../../platform/exact-json.ts';
import {
  isNumeric,
  type Comparison,
  type Numeric,
  type PositiveComparison,
  type Range,
  type Scalar,
} from '../language/forms.ts';
import type { Bindings } from './bindings.ts';
import { comparisonSql, DECIMAL_DIGITS, DECIMAL_SCALE, decimalText, endsOf } from './comparison-sql.ts';

/** The value under `key` (not a path) of a column that holds a JSON object as text. */
export interface JsonValue {
  column: string;
  key: string;
}

/**
 * Compares a value by its stored JSON type: '12' does not equal 12. ClickHouse converts between types when it extracts
 * a value, so the expression checks the type wherever a value of another type could be extracted as the same. Numbers are
 * compared as doubles, and integers that are not safe ones by their digits.
 */
export function jsonComparisonSql(
  value: JsonValue,
  { negated, positive }: Comparison,
  bindings: Bindings,
): string {
  const condition = positiveSql(jsonParts(value, bindings), positive, bindings);
  return negated ? `not (${condition})` : condition;
}

/** The value as a double; null where it is not a number. */
export function jsonNumber(value: JsonValue, bindings: Bindings): string {
  const { is_number, number } = jsonParts(value, bindings);
  return `if(${is_number}, ${number}, null)`;
}

/** The value as an exact decimal; 0 where it is not a number. */
export function jsonDecimal(value: JsonValue, bindings: Bindings): string {
  const { is_number, exact } = jsonParts(value, bindings);
  return `if(${is_number}, ifNull(toDecimal256OrNull(${exact()}, ${DECIMAL_SCALE}), 0), 0)`;
}

/** An amount as an exact decimal: a number, or its digits as a text; null where it is neither. */
export function jsonAmount(value: JsonValue, bindings: Bindings): string {
  const { is_number, exact, type, text } = jsonParts(value, bindings);
  const is_digits = `${type} = 'String' and match(${text}, '^[0-9]{1,38}$')`;
  const digits = `if(${is_digits}, ${text}, if(${is_number}, ${exact()}, ''))`;
  return `toDecimal256OrNull(${digits}, ${DECIMAL_SCALE})`;
}

/** Whether the value is a text that is not empty. */
export function hasText(value: JsonValue, bindings: Bindings): string {
  const { type, text } = jsonParts(value, bindings);
  return `(${type} = 'String' and ${text} != '')`;
}

/** Whether the value is a number. */
export function isJsonNumber(value: JsonValue, bindings: Bindings): string {
  return jsonParts(value, bindings).is_number;
}

/** The value as JSON text; null where it is missing. */
export function jsonText(value: JsonValue, bindings: Bindings): string {
  const { type, exact } = jsonParts(value, bindings);
  return `if(${type} = 'Null', null, ${exact()})`;
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
  const number = `JSONExtractFloat(${args})`;
  const raw = `JSONExtractRaw(${args})`;
  return {
    column,
    type,
    is_number: `${type} in ('Int64', 'UInt64', 'Double')`,
    text: `JSONExtractString(${args})`,
    number,
    boolean: `JSONExtractBool(${args})`,
    /**
     * The JSON text of the value. ClickHouse writes a double anew, so of one that may have been sent as an integer the digits are
     * read from the column's text, if they are there.
     */
    exact: () => {
      const digits = `extract(${column}, ${bindings.bind('String', storedNumberPattern(key))})`;
      const is_long = `${type} = 'Double' and abs(${number}) > ${Number.MAX_SAFE_INTEGER}`;
      return `if(${is_long}, coalesce(nullIf(${digits}, ''), ${raw}), ${raw})`;
    },
    elements: `JSONExtractArrayRaw(${args})`,
    date: () => jsonDate({ column, key }, bindings),
  };
}

function positiveSql(parts: Parts, positive: PositiveComparison, bindings: Bindings): string {
  switch (positive.form) {
    case 'exists':
      return `${parts.type} != 'Null'`;
    case 'one_of':
      return equalsSql(parts, positive.values, bindings);
    case 'contains':
      return containsSql(parts, positive.value, bindings);
    case 'starts_with':
      return `(${parts.type} = 'String' and ${asText(parts.text, positive, bindings)})`;
    case 'numbers':
      return inRange(parts, positive.range, bindings);
    case 'times': {
      const operand = { kind: 'date', sql: parts.date(), nullable: true } as const;
      return comparisonSql(operand, { negated: false, positive }, bindings);
    }
  }
}

function asText(sql: string, positive: PositiveComparison, bindings: Bindings): string {
  return comparisonSql({ kind: 'text', sql, nullable: false }, { negated: false, positive }, bindings);
}

/** In a range of numbers. Compares as doubles first: the digits decide between numbers that are one double. */
function inRange({ is_number, number, exact }: Parts, range: Range<Numeric>, bindings: Bindings): string {
  const ends = endsOf(range).map(({ sign, value, is_included }) => {
    const or_equal = is_included ? '=' : '';
    const float = () => bindings.bind('Float64', Number(value));
    if (typeof value !== 'bigint') return `${number} ${sign}${or_equal} ${float()}`;
    const decimal = `toDecimal256OrNull(${exact()}, ${DECIMAL_SCALE})`;
    const bound = bindings.bind(`Decimal(${DECIMAL_DIGITS}, ${DECIMAL_SCALE})`, decimalText(value));
    // More digits than a decimal has are compared as doubles.
    const tie = `ifNull(${decimal} ${sign}${or_equal} ${bound}, ${is_included ? 1 : 0})`;
    return `(${number} ${sign} ${float()} or ${number} = ${float()} and ${tie})`;
  });
  return `(${[is_number, ...ends].join(' and ')})`;
}

/** Equal to one of the numbers. The digits decide where a double may stand for other numbers, too. */
function equalsNumber(
  { is_number, number, exact }: Parts,
  values: readonly Numeric[],
  bindings: Bindings,
): string {
  if (values.every((value) => typeof value === 'number')) {
    const operand = { kind: 'number', held_as: 'float', sql: number, nullable: false } as const;
    const positive = { form: 'one_of', values } as const;
    return `(${is_number} and ${comparisonSql(operand, { negated: false, positive }, bindings)})`;
  }
  const alternatives = values.map((value) => {
    const equals = `${number} = ${bindings.bind('Float64', Number(value))}`;
    return typeof value === 'bigint' ? `(${equals} and ${isTheInteger(exact(), value, bindings)})` : equals;
  });
  return `(${is_number} and (${alternatives.join(' or ')}))`;
}

/** Whether the text of a number, whose double is that of the integer, is the integer. */
function isTheInteger(text: string, value: bigint, bindings: Bindings): string {
  const is_digits = `${text} = ${bindings.bind('String', String(value))}`;
  // ClickHouse writes large doubles with an exponent, and as few digits as JavaScript does.
  const is_of_double = shortestInteger(Number(value)) === value;
  return is_of_double ? `(${is_digits} or position(${text}, 'e') > 0)` : is_digits;
}

/** Equal to one of the values, each compared by its own type. */
function equalsSql(parts: Parts, values: readonly Scalar[], bindings: Bindings): string {
  const texts = values.filter((value) => typeof value === 'string');
  const numbers = values.filter(isNumeric);
  const alternatives = [
    ...(texts.length > 0 ? [equalsText(parts, texts, bindings)] : []),
    ...(numbers.length > 0 ? [equalsNumber(parts, numbers, bindings)] : []),
    ...[true, false]
      .filter((value) => values.includes(value))
      .map((value) => `(${parts.type} = 'Bool' and ${parts.boolean} = ${value})`),
  ];
  return alternatives.length === 1 ? (alternatives[0] ?? '0') : `(${alternatives.join(' or ')})`;
}

function equalsText(parts: Parts, texts: readonly string[], bindings: Bindings): string {
  const equals = asText(parts.text, { form: 'one_of', values: texts }, bindings);
  // From a value of another type ClickHouse extracts JSON text or nothing: only such texts need a check of the type.
  return texts.some((text) => text === '' || isJson(text))
    ? `(${parts.type} = 'String' and ${equals})`
    : equals;
}

function containsSql(parts: Parts, value: Scalar, bindings: Bindings): string {
  const element = `arrayExists(x -> ${elementEquals(value, parts, bindings)}, ${parts.elements})`;
  const in_list = `(${parts.type} = 'Array' and ${element})`;
  if (typeof value !== 'string') return in_list;
  const in_text = asText(parts.text, { form: 'contains', value }, bindings);
  return `((${parts.type} = 'String' and ${in_text}) or ${in_list})`;
}

function elementEquals(value: Scalar, { column }: Parts, bindings: Bindings): string {
  if (typeof value === 'string') {
    return `(JSONType(x) = 'String' and JSONExtractString(x) = ${bindings.bind('String', value)})`;
  }
  if (typeof value === 'boolean') return `x = '${value}'`;
  const number = bindings.bind('Float64', Number(value));
  const equals = `JSONType(x) in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(x) = ${number}`;
  if (typeof value !== 'bigint') return `(${equals})`;
  const stored = storedElement(value);
  const text = bindings.bind('String', stored);
  if (stored === String(value)) return `(${equals} and x = ${text})`;
  // ClickHouse writes the element anew, with all digits of a double: a text that it cannot read as JSON itself.
  return `(toFloat64OrZero(x) = ${number} and position(${column}, ${text}) > 0)`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
