/** The weights of all variants together. */
export const WHOLE = 100;

/**
 * Whole weights from 1 on that are in about the same relation as the given ones and whose sum is `sum`: what rounding
 * leaves goes to those that lose most. Throws RangeError when there are more than `sum`.
 */
export function scaledTo(sum: number, weights: readonly number[]): number[] {
  if (weights.length > sum) throw new RangeError(`${weights.length} weights do not fit into ${sum}`);
  const all = weights.reduce((total, weight) => total + weight, 0);
  const exact = weights.map((weight) => (all === 0 ? sum / weights.length : (weight * sum) / all));
  const scaled = exact.map((weight) => Math.max(1, Math.floor(weight)));
  const total = () => scaled.reduce((so_far, weight) => so_far + weight, 0);
  const lost = (i: number) => (exact[i] ?? 0) - (scaled[i] ?? 0);
  while (total() !== sum) {
    const by = total() < sum ? 1 : -1;
    const candidates = scaled.map((_, i) => i).filter((i) => by === 1 || (scaled[i] ?? 0) > 1);
    const best = candidates.toSorted((a, b) => by * (lost(b) - lost(a)))[0] ?? 0;
    scaled[best] = (scaled[best] ?? 0) + by;
  }
  return scaled;
}

/** The weights of variants and of one more, which gets an equal share; the sum is 100. */
export function withOneMore(weights: readonly number[]): { others: number[]; added: number } {
  const added = Math.max(1, Math.floor(WHOLE / (weights.length + 1)));
  return weights.length === 0
    ? { others: [], added: WHOLE }
    : { others: scaledTo(WHOLE - added, weights), added };
}
