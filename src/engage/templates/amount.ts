import { Drop, toValue } from 'liquidjs';

/**
 * A whole number that was read from an object with a `currency`, such as the properties of an event: the filter `money`
 * writes it in that currency. Everything else reads the number.
 */
export class Amount extends Drop {
  readonly #value: unknown;
  readonly #currency: string;

  constructor(value: unknown, currency: string) {
    super();
    this.#value = value;
    this.#currency = currency;
  }

  override valueOf(): unknown {
    return toValue(this.#value);
  }

  override toString(): string {
    return String(this.#value);
  }

  toJSON(): unknown {
    return this.valueOf();
  }

  /** The value as it would be without a currency, and the currency; of any other value the value alone. */
  static read(value: unknown): { plain: unknown; currency?: string } {
    return value instanceof Amount ? { plain: value.#value, currency: value.#currency } : { plain: value };
  }
}

/** The value as it would be without a currency. */
export function plainOf(value: unknown): unknown {
  return Amount.read(value).plain;
}

/** A value that was read from `holder`: an {@link Amount} where it is a whole number that has a currency there. */
export function withCurrencyOf(holder: unknown, value: unknown): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, 'currency')) return value;
  const { currency } = holder as { currency?: unknown };
  if (typeof currency !== 'string' || currency === '' || digitsOf(value) === undefined) return value;
  return new Amount(value, currency);
}

/** What was computed of the operands: an {@link Amount} where those that have a currency have the same one. */
export function computedOf(operands: readonly unknown[], result: unknown): unknown {
  const currencies = new Set(operands.flatMap((operand) => Amount.read(operand).currency ?? []));
  const [currency] = currencies;
  return currency === undefined || currencies.size > 1 ? result : new Amount(result, currency);
}

const MAX_DIGITS = 100;

/** The digits of a whole number, which may be a text; undefined for anything else. */
export function digitsOf(value: unknown): string | undefined {
  const plain: unknown = toValue(value);
  if (typeof plain === 'bigint' || Number.isSafeInteger(plain)) return String(BigInt(plain as number));
  if (typeof plain !== 'string' || plain.length > MAX_DIGITS || !/^-?\d+$/.test(plain)) return undefined;
  return String(BigInt(plain));
}
