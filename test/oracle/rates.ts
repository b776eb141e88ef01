/** Rates and conversions of the oracle. Like the oracle, this file imports no code of the service. */

export const LARGEST_TOTAL = 2n ** 63n - 1n;

/** The decimal places of the smallest units: those of ISO 4217, and those of the blockchains. */
export const DECIMALS: Readonly<Record<string, number>> = {
  EUR: 2,
  USD: 2,
  SEK: 2,
  JPY: 0,
  KWD: 3,
  BTC: 8,
  ETH: 18,
};

/** 1 whole unit of `base` = `rate` whole units of `quote`, from this moment on. */
export interface OracleRate {
  base: string;
  quote: string;
  ts_ms: number;
  /** Decimal digits. */
  rate: string;
}

/** The rate that applies to a conversion. */
export interface HoldingRate extends OracleRate {
  is_inverse: boolean;
}

/** The rates of one tenant. */
export class OracleRates {
  #rates = new Map<string, OracleRate>();

  set(rate: OracleRate): void {
    this.#rates.set(keyOf(rate), rate);
  }

  delete(rate: OracleRate): void {
    this.#rates.delete(keyOf(rate));
  }

  has(rate: OracleRate): boolean {
    return this.#rates.has(keyOf(rate));
  }

  /** All rates of a pair. */
  ofPair(base: string, quote: string): OracleRate[] {
    return [...this.#rates.values()].filter((rate) => rate.base === base && rate.quote === quote);
  }

  /** The latest rate of the pair that is not after the moment; when there is none, the latest of the opposite pair. */
  at(currency: string, base_currency: string, at_ms: number): HoldingRate | undefined {
    for (const is_inverse of [false, true]) {
      const [base, quote] = is_inverse ? [base_currency, currency] : [currency, base_currency];
      const known = this.ofPair(base, quote).filter(({ ts_ms }) => ts_ms <= at_ms);
      const latest = known.sort((a, b) => b.ts_ms - a.ts_ms)[0];
      if (latest !== undefined) return { ...latest, is_inverse };
    }
    return undefined;
  }

  /** An amount in the base currency's smallest unit; undefined without a rate or when it exceeds 64 bits. */
  convert(amount: bigint, currency: string, base_currency: string, at_ms: number): bigint | undefined {
    if (amount === 0n || currency === base_currency) return amount;
    const holding = this.at(currency, base_currency, at_ms);
    if (holding === undefined) return undefined;
    const rate = toFraction(holding.rate);
    const [times, by] = holding.is_inverse ? [rate.under, rate.over] : [rate.over, rate.under];
    // The amount in whole units (÷ 10^from), times the rate, in smallest units of the base (× 10^to).
    const shift = decimalsOf(base_currency) - decimalsOf(currency);
    const over = amount * times * (shift > 0 ? 10n ** BigInt(shift) : 1n);
    const under = by * (shift < 0 ? 10n ** BigInt(-shift) : 1n);
    const converted = nearest(over, under);
    return converted > LARGEST_TOTAL ? undefined : converted;
  }
}

function keyOf({ base, quote, ts_ms }: OracleRate): string {
  return `${base} ${quote} ${ts_ms}`;
}

function decimalsOf(currency: string): number {
  const decimals = DECIMALS[currency];
  if (decimals === undefined) throw new Error(`the oracle does not know ${currency}`);
  return decimals;
}

function toFraction(decimal: string): { over: bigint; under: bigint } {
  const places = decimal.includes('.') ? decimal.length - decimal.indexOf('.') - 1 : 0;
  return { over: BigInt(decimal.replace('.', '')), under: 10n ** BigInt(places) };
}

/** over ÷ under rounded to a whole number, half to even. */
function nearest(over: bigint, under: bigint): bigint {
  // First rounds half up: the whole part of x + 1/2. A tie that was rounded up to an odd number is one too large.
  const up = (2n * over + under) / (2n * under);
  const isMiddle = up * 2n * under === 2n * over + under;
  return isMiddle && up % 2n === 1n ? up - 1n : up;
}
