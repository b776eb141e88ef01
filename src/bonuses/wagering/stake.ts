import { divideHalfEven, fractionOf } from '../../ledger/money/conversion.ts';
import type { FoundRate } from './rate-queries.ts';

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
export function stakeIn(stake: bigint, rate: FoundRate | undefined): Stake | null {
  if (stake === 0n) return stakeAsIs(0n);
  if (rate === undefined) return null;
  let over = stake * 10n ** BigInt(rate.to_scale);
  let under = 10n ** BigInt(rate.from_scale);
  for (const { rate: digits, is_inverse } of rate.steps) {
    const { numerator, denominator } = fractionOf(digits);
    over *= is_inverse ? denominator : numerator;
    under *= is_inverse ? numerator : denominator;
  }
  return { amount: divideHalfEven(over, under), over, under };
}
