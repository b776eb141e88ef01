import { chiSquareTail } from './distributions.ts';

/**
 * Holm's correction: the p-values of several comparisons, in their order, each as it may be compared with the level of one.
 */
export function holm(p_values: readonly number[]): number[] {
  const order = p_values.map((p, i) => ({ p, i })).toSorted((a, b) => a.p - b.p);
  const corrected = p_values.map(() => 1);
  let highest = 0;
  for (const [rank, { p, i }] of order.entries()) {
    highest = Math.max(highest, Math.min(p * (p_values.length - rank), 1));
    corrected[i] = highest;
  }
  return corrected;
}

/** An arm: how many players it has, and how many it should have. */
export interface Share {
  players: number;
  expected: number;
}

/**
 * How likely arms are at least as uneven as these when players are drawn as planned (Pearson's χ²). 1 for fewer than two arms
 * that players may be in. An arm with players that should have none: 0.
 */
export function unevenP(arms: readonly Share[]): number {
  if (arms.some(({ players, expected }) => expected === 0 && players > 0)) return 0;
  const drawn = arms.filter(({ expected }) => expected > 0);
  if (drawn.length < 2) return 1;
  const distance = drawn.reduce(
    (sum, { players, expected }) => sum + (players - expected) ** 2 / expected,
    0,
  );
  return chiSquareTail(distance, drawn.length - 1);
}
