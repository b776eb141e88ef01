/** Tops of an axis whose halves are round numbers, too; times a power of ten. */
const ROUND = [1, 2, 3, 4, 6, 8, 10];

/** The three ticks of an axis, from the top down. */
export type Ticks = readonly [number, number, number];

/**
 * Ticks between which all values and 0 are: 0 and a round number with its half; or, with values on both sides of 0, a round
 * number, 0 and its negative. With `is_whole` the half is a whole number, too.
 */
export function ticksOf(values: readonly number[], is_whole: boolean): Ticks {
  const high = values.reduce((most, value) => Math.max(most, value), 0);
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const top = roundUp(Math.max(high, -low), is_whole);
  if (low === 0) return [top, top / 2, 0];
  return high === 0 ? [0, -top / 2, -top] : [top, 0, -top];
}

function roundUp(size: number, is_whole: boolean): number {
  const least = is_whole ? 2 : Number.MIN_VALUE;
  const wanted = Math.max(size, size === 0 ? 1 : least, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const found = ROUND.find(
    (one) => one * power >= wanted && (!is_whole || Number.isInteger((one * power) / 2)),
  );
  return (found ?? 10) * power;
}
