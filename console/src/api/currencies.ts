import type { Currency } from '../format/money.ts';
import { formatMoney, formatMoneyShort } from '../format/money.ts';
import { formatInt, formatShort } from '../format/number.ts';
import type { Int } from './json.ts';
import { usePlace } from './place.tsx';
import { useRead } from './queries.ts';

const HOUR_MS = 3_600_000;

/** An amount as the API shows it: beyond 2^53 - 1 as a string of digits, or a `bigint`. */
export type Amount = Int | string;

/** Formats amounts of the project's currencies; `base` is the base currency. */
export interface MoneyFormat {
  /** An amount in the base currency. */
  base: (amount_subunit: Amount) => string;
  /** An amount in any currency of the catalogue. */
  of: (amount_subunit: Amount, code: string) => string;
  /** An amount in the base currency, rounded: a tick of a chart. */
  short: (amount_subunit: number) => string;
}

/** Asks for the currencies of the project. */
export function useCatalogue() {
  return useRead('currencies.list', [], { refresh_ms: HOUR_MS });
}

/** The currencies of the project; undefined until they are known. */
function useCurrencies(): readonly Currency[] | undefined {
  return useCatalogue().data?.data;
}

/** The project's base currency; undefined until the catalogue is there. A form waits for {@link useAskedBase} instead. */
export function useBaseCurrency(): Currency | undefined {
  return useAskedBase().data?.currency;
}

/**
 * Asks for the project's base currency, for forms: an amount that is typed before the currency is known would be
 * understood in another unit. `currency` is undefined when the catalogue does not have it.
 */
export function useAskedBase() {
  const { base_currency } = usePlace();
  const catalogue = useCatalogue();
  const currencies = catalogue.data?.data;
  return {
    ...catalogue,
    data: currencies && { currency: currencies.find(({ code }) => code === base_currency) },
  };
}

/** The formats of the project's currencies. Until the catalogue is there, amounts are shown in their smallest unit. */
export function useMoney(): MoneyFormat {
  const { base_currency } = usePlace();
  const currencies = useCurrencies();
  const of = (amount: Amount, code: string) => {
    const amount_subunit = BigInt(amount);
    const currency = currencies?.find((one) => one.code === code);
    return currency === undefined
      ? `${formatInt(amount_subunit)} × ${code}`
      : formatMoney(amount_subunit, currency);
  };
  const short = (amount_subunit: number) => {
    const currency = currencies?.find(({ code }) => code === base_currency);
    return currency === undefined ? formatShort(amount_subunit) : formatMoneyShort(amount_subunit, currency);
  };
  return { base: (amount_subunit) => of(amount_subunit, base_currency), of, short };
}
