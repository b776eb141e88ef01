/** The greatest amount a 64-bit column holds. */
const MAX_BASE_AMOUNT = 2n ** 63n - 1n;

/** A published rate, and which way round it is used. */
export interface Rate {
  /** Decimal digits: 1 whole unit of the pair's base = `rate` whole units of its quote. */
  rate: string;
  ts_ms: number;
  /** The pair is (our base currency → currency): divide by it. */
  is_inverse: boolean;
}

/** How amounts of one currency become base currency. Scales are the decimal places of the smallest units. */
export interface Conversion extends Rate {
  from_scale: number;
  to_scale: number;
}

/** The conversion of an amount: none is needed, one is known, or none is known yet. */
export type Conversions = 'same' | Conversion | undefined;

/**
 * An amount in the smallest unit of the base currency, or null while no rate is known. Exact arithmetic, rounded
 * half to even, once. Nothing is nothing in every currency, so 0 needs no rate. What does not fit 64 bits after
 * conversion stays null: whether a rate comes before or after an event must not decide what becomes of the event.
 */
export function toBase(amount: bigint | null, conversion: Conversions): bigint | null {
  if (amount === null || amount === 0n || conversion === 'same') return amount;
  if (conversion === undefined) return null;
  const base_amount = convert(amount, conversion);
  return base_amount > MAX_BASE_AMOUNT ? null : base_amount;
}

/** Amounts as sent, in the smallest unit of their currency. */
interface Money {
  amount: bigint | null;
  payout: bigint | null;
  currency: string | null;
}

/** What a ledger row says in base currency. */
export interface BaseMoney {
  base_amount: bigint | null;
  base_payout: bigint | null;
  /** The rate that was needed and used. */
  rate: Rate | null;
}

/** Both amounts of a money event in base currency, and the rate they owe it to. */
export function inBase({ amount, payout }: Omit<Money, 'currency'>, conversion: Conversions): BaseMoney {
  const base_amount = toBase(amount, conversion);
  const base_payout = toBase(payout, conversion);
  const isConverted = (sent: bigint | null, base: bigint | null) =>
    sent !== null && sent > 0n && base !== null;
  const used = isConverted(amount, base_amount) || isConverted(payout, base_payout);
  if (!used || conversion === undefined || conversion === 'same')
    return { base_amount, base_payout, rate: null };
  const { rate, ts_ms, is_inverse } = conversion;
  return { base_amount, base_payout, rate: { rate, ts_ms, is_inverse } };
}

/** Whether an amount that is in base currency already is too large for the columns of base amounts. */
export function exceeds64Bits({ amount, payout, currency }: Money, base_currency: string): boolean {
  return currency === base_currency && ((amount ?? 0n) > MAX_BASE_AMOUNT || (payout ?? 0n) > MAX_BASE_AMOUNT);
}

/** Whether money needs a rate to become base currency. */
export function needsRate({ amount, payout, currency }: Money, base_currency: string | undefined): boolean {
  return currency !== null && currency !== base_currency && ((amount ?? 0n) > 0n || (payout ?? 0n) > 0n);
}

function convert(amount: bigint, { rate, is_inverse, from_scale, to_scale }: Conversion): bigint {
  const { numerator, denominator } = fractionOf(rate);
  const [over, under] = is_inverse ? [denominator, numerator] : [numerator, denominator];
  return divideHalfEven(amount * over * 10n ** BigInt(to_scale), under * 10n ** BigInt(from_scale));
}

/** A positive number as `numerator ÷ denominator`. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** Reads plain decimal digits, as Postgres writes a numeric. */
export function fractionOf(decimal: string): Fraction {
  const [whole = '', decimals = ''] = decimal.split('.');
  return { numerator: BigInt(whole + decimals), denominator: 10n ** BigInt(decimals.length) };
}

/** The quotient of two numbers that are not negative, rounded half to even. */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const twice = (dividend % divisor) * 2n;
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}
