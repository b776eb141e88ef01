import type { Deduction } from '../../tenants/config/read.ts';

/** Deductions are so many parts of an amount: hundredths of a percent. */
export const DEDUCTION_PARTS = 10_000n;

/** `bp` hundredths of a percent of an amount, rounded half to even. */
export function shareOf(amount: bigint, bp: number): bigint {
  const scaled = amount * BigInt(bp);
  const size = scaled < 0n ? -scaled : scaled;
  const whole = size / DEDUCTION_PARTS;
  const rest = size % DEDUCTION_PARTS;
  const half = DEDUCTION_PARTS / 2n;
  const is_up = rest > half || (rest === half && whole % 2n === 1n);
  const rounded = is_up ? whole + 1n : whole;
  return scaled < 0n ? -rounded : rounded;
}

/**
 * Net gaming revenue of a cell: what it is before deductions, less each of them, which is rounded alone. `bases`: what the
 * deductions are shares of, in their order.
 */
export function lessDeductions(
  before: bigint,
  bases: readonly bigint[],
  deductions: readonly Pick<Deduction, 'bp'>[],
): bigint {
  return deductions.reduce((left, { bp }, i) => left - shareOf(bases[i] ?? 0n, bp), before);
}
