/** The greatest amount a 64-bit column holds. */
const MAX_BASE_AMOUNT = 2n ** 63n - 1n;

/**
 * An amount in the smallest unit of the base currency, or null while no rate is known. Nothing is nothing in
 * every currency, so 0 needs no rate.
 */
export function toBase(amount: bigint | null, currency: string | null, base_currency: string): bigint | null {
  if (amount === null) return null;
  if (amount === 0n) return 0n;
  return currency === base_currency ? amount : null;
}

interface Money {
  amount: bigint | null;
  payout: bigint | null;
  currency: string | null;
}

/** Whether an amount is too large for the columns of base amounts. */
export function exceeds64Bits({ amount, payout, currency }: Money, base_currency: string): boolean {
  return (
    (toBase(amount, currency, base_currency) ?? 0n) > MAX_BASE_AMOUNT ||
    (toBase(payout, currency, base_currency) ?? 0n) > MAX_BASE_AMOUNT
  );
}
