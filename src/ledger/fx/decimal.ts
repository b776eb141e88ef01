import { divideHalfEven, type Fraction } from '../money/conversion.ts';
import { trimEnd } from '../../platform/trim-end.ts';

/** A published rate may have this many digits before the point, and as many after it. */
const MAX_DIGITS = 40;
const NUMBER = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;
/** Significant digits of a computed rate: more than any published rate has. */
const PRECISION = 20;

/**
 * A JSON number as plain decimal digits, exact. Undefined for a number that cannot be a rate: negative, zero, or with
 * more than 40 digits on either side of the point.
 */
export function positiveDecimal(json_number: string): string | undefined {
  const [, whole = '', decimals = '', exponent = '0'] = NUMBER.exec(json_number) ?? [];
  const digits = whole + decimals;
  if (!/[1-9]/.test(digits)) return undefined;
  const text = withPoint(digits, decimals.length - Number(exponent));
  const [integer = '', fraction = ''] = text.split('.');
  return integer.length > MAX_DIGITS || fraction.length > MAX_DIGITS ? undefined : text;
}

/** A positive fraction as decimal digits, rounded half to even to 20 significant digits. */
export function roundedDecimal({ numerator, denominator }: Fraction): string {
  const places = PRECISION - (numberOfDigits(numerator) - numberOfDigits(denominator));
  // The first guess has 20 or 21 digits.
  const guess = scaledQuotient(numerator, denominator, places);
  const fits = guess < 10n ** BigInt(PRECISION);
  return trimmed(
    fits ? guess : scaledQuotient(numerator, denominator, places - 1),
    fits ? places : places - 1,
  );
}

/** A positive fraction as decimal digits, exact; its denominator must be a power of ten. */
export function exactDecimal({ numerator, denominator }: Fraction): string {
  return trimmed(numerator, numberOfDigits(denominator) - 1);
}

/** Numerator × 10^places ÷ denominator, rounded half to even. */
function scaledQuotient(numerator: bigint, denominator: bigint, places: number): bigint {
  return places >= 0
    ? divideHalfEven(numerator * 10n ** BigInt(places), denominator)
    : divideHalfEven(numerator, denominator * 10n ** BigInt(-places));
}

/** `value` ÷ 10^places, without trailing zeros after the point. */
function trimmed(value: bigint, places: number): string {
  const text = withPoint(String(value), places);
  return text.includes('.') ? trimEnd(trimEnd(text, '0'), '.') : text;
}

/** The digits with a point `places` from the right (negative: zeros are appended), without leading zeros. */
function withPoint(digits: string, places: number): string {
  if (places <= 0) return stripped(digits + '0'.repeat(-places));
  const padded = digits.padStart(places + 1, '0');
  return `${stripped(padded.slice(0, -places))}.${padded.slice(-places)}`;
}

function stripped(integer: string): string {
  return integer.replace(/^0+(?=\d)/, '');
}

function numberOfDigits(value: bigint): number {
  return String(value).length;
}
