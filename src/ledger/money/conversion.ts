/** The greatest amount a 64-bit column holds. */
const MAX_BASE_AMOUNT = 2n ** 63n - 1n;

/** A published rate, and the direction in which it is used. */
export interface Rate {
  /** Decimal digits: 1 whole unit of the pair's base = `rate` whole units of its quote. */
  rate: string;
  ts_ms: number;
  /** The pair is (our base currency → currency): divide by it. */
  is_inverse: boolean;
}

/** The conversion of one currency to the base currency. Scales are the decimal places of the smallest units. */
export interface Conversion extends Rate {
  from_scale: number;
  to_scale: number;
}

/** The conversion of an amount: `same`: none is needed; undefined: no rate is known yet. */
export type Conversions = 'same' | Conversion | undefined;

/**
 * An amount in the smallest unit of the base currency; null while no rate is known, and for null. The arithmetic is
 * exact and rounds once, half to even. 0 is 0 in every currency and needs no rate. An amount that does not fit 64 bits
 * after conversion stays null and is not rejected, so that the result does not depend on whether the rate or the event
 * came first.
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
  bonus_stake?: bigint | null;
  bonus_payout?: bigint | null;
  currency: string | null;
}

/** The amounts of a ledger row in the smallest unit of the base currency, and the rate that converted them. */
export interface BaseMoney {
  base_amount: bigint | null;
  base_payout: bigint | null;
  base_bonus_stake: bigint | null;
  base_bonus_payout: bigint | null;
  /** Null when no rate was needed or none is known. */
  rate: Rate | null;
}

/** The decimal places of both currencies, where a rate converts. */
export function scalesOf(conversion: Conversions): { from_scale: number; to_scale: number } | null {
  if (conversion === undefined || conversion === 'same') return null;
  const { from_scale, to_scale } = conversion;
  return { from_scale, to_scale };
}

/** Converts the amounts of a money event and their bonus parts to the base currency. */
export function inBase(
  { amount, payout, bonus_stake = null, bonus_payout = null }: Omit<Money, 'currency'>,
  conversion: Conversions,
): BaseMoney {
  const base_amount = toBase(amount, conversion);
  const base_payout = toBase(payout, conversion);
  return {
    base_amount,
    base_payout,
    base_bonus_stake: base_amount === null ? null : toBase(bonus_stake, conversion),
    base_bonus_payout: base_payout === null ? null : toBase(bonus_payout, conversion),
    rate: isConverted(amount, base_amount) || isConverted(payout, base_payout) ? rateOf(conversion) : null,
  };
}

/** An amount of 0 needs no rate. */
function isConverted(sent: bigint | null, to: bigint | null): boolean {
  return sent !== null && sent > 0n && to !== null;
}

function rateOf(conversion: Conversions): Rate | null {
  if (conversion === undefined || conversion === 'same') return null;
  const { rate, ts_ms, is_inverse } = conversion;
  return { rate, ts_ms, is_inverse };
}

/** Whether an amount sent in the base currency is too large for the columns of base amounts. */
export function exceeds64Bits({ amount, payout, currency }: Money, base_currency: string): boolean {
  return currency === base_currency && ((amount ?? 0n) > MAX_BASE_AMOUNT || (payout ?? 0n) > MAX_BASE_AMOUNT);
}

/** Whether a rate is needed to convert the amounts to the base currency. */
export function needsRate({ amount, payout, currency }: Money, base_currency: string | undefined): boolean {
  return currency !== null && currency !== base_currency && ((amount ?? 0n) > 0n || (payout ?? 0n) > 0n);
}

function convert(amount: bigint, { rate, is_inverse, from_scale, to_scale }: Conversion): bigint {
  const { numerator, denominator } = factorOf({ steps: [{ rate, is_inverse }], from_scale, to_scale });
  return divideHalfEven(amount * numerator, denominator);
}

/** A positive number as `numerator ÷ denominator`. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** One step of a conversion: a published rate in whole units; `is_inverse`: divide by it. */
export type RateStep = Pick<Rate, 'rate' | 'is_inverse'>;

/**
 * A conversion without rounding: by `steps`, one after the other, none for a currency to itself. The inverse of a rate
 * has no decimal digits that are exact, so all calculations keep the steps. Scales are decimal places.
 */
export interface ExactRate {
  steps: readonly RateStep[];
  from_scale: number;
  to_scale: number;
}

/** How many smallest units of the one currency a smallest unit of the other is, exact. */
export function factorOf({ steps, from_scale, to_scale }: ExactRate): Fraction {
  const factor = { numerator: 10n ** BigInt(to_scale), denominator: 10n ** BigInt(from_scale) };
  for (const { rate, is_inverse } of steps) {
    const { numerator, denominator } = fractionOf(rate);
    factor.numerator *= is_inverse ? denominator : numerator;
    factor.denominator *= is_inverse ? numerator : denominator;
  }
  return factor;
}

/** Reads plain decimal digits, as Postgres writes a numeric. */
export function fractionOf(decimal: string): Fraction {
  const [whole = '', decimals = ''] = decimal.split('.');
  return { numerator: BigInt(whole + decimals), denominator: 10n ** BigInt(decimals.length) };
}

/** The quotient of two non-negative numbers, rounded half to even. */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const twice = (dividend % divisor) * 2n;
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}
