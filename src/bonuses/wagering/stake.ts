import { divideHalfEven, factorOf, type ExactRate } from '../../ledger/money/conversion.ts';

/** A stake in the smallest unit of a currency. */
export interface Stake {
  /** What counts: rounded once, half to even, as the ledger does. */
  amount: bigint;
  /** The exact value, `over ÷ under`: what a limit is compared with. */
  over: bigint;
  under: bigint;
}

/** A stake that needs no conversion. */
export function stakeAsIs(amount: bigint): Stake {
  return { amount, over: amount, under: 1n };
}

/**
 * A stake in the smallest unit of another currency: exact across all steps. 0 is 0 in every currency; null: no rate is
 * known.
 */
export function stakeIn(stake: bigint, rate: ExactRate | undefined): Stake | null {
  if (stake === 0n) return stakeAsIs(0n);
  if (rate === undefined) return null;
  const { numerator, denominator: under } = factorOf(rate);
  const over = stake * numerator;
  return { amount: divideHalfEven(over, under), over, under };
}
