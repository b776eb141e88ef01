/** A deposit limit that a player has set. */
export interface DepositLimit {
  at_ms: number;
  /** As sent: in the smallest unit of `currency`. */
  amount: bigint;
  /** What the limit is for, such as `daily`; an empty text: the event does not say. */
  period: string;
  /** An empty text: the event does not say. */
  currency: string;
}

const MAX_PERIOD_LENGTH = 32;
const MAX_CURRENCY_LENGTH = 16;
const DIGITS = /^[0-9]{1,38}$/;

/**
 * The limit that an event sets, at the time `at_ms`; undefined for other events, and for one without an amount: its
 * properties are free, and nothing is known of such a limit.
 */
export function depositLimitOf(
  event: string,
  { amount, period, currency }: Readonly<Record<string, unknown>>,
  at_ms: number,
): DepositLimit | undefined {
  if (event !== 'deposit_limit_set') return undefined;
  const value = typeof amount === 'number' && Number.isSafeInteger(amount) ? String(amount) : amount;
  if (typeof value !== 'string' || !DIGITS.test(value)) return undefined;
  return {
    at_ms,
    amount: BigInt(value),
    period: nameOf(period, MAX_PERIOD_LENGTH),
    currency: nameOf(currency, MAX_CURRENCY_LENGTH),
  };
}

function nameOf(value: unknown, most: number): string {
  return typeof value === 'string' ? value.slice(0, most) : '';
}
