/** A point within bounds. */
export type Point = readonly number[];

/** The bounds of a coordinate; both are positive, because the search is in logarithms. */
export interface Bounds {
  low: number;
  high: number;
}

/** How a search is done. */
export interface SearchOptions {
  /** Called after each value: gives others a turn, and may reject to end the search. */
  breathe?: () => Promise<void>;
}

/** The lowest point that was found. */
export interface Minimum {
  point: number[];
  value: number;
}

interface Vertex {
  at: number[];
  value: number;
}

/** Values that are computed, at most. */
const MAX_VALUES = 2_000;
/** The first simplex: so far along each logarithm. */
const STEP = 0.5;
const VALUE_TOLERANCE = 1e-10;
const POINT_TOLERANCE = 1e-6;
/** A search that has ended begins again from its minimum, because a simplex may have become flat. */
const SEARCHES = 3;

/**
 * The minimum of a function of positive coordinates within bounds, by the search of Nelder and Mead in their logarithms; a
 * point beyond a bound is moved onto it. A value that is not a number counts as infinite. Deterministic.
 */
export async function minimise(
  valueOf: (point: Point) => number,
  start: Point,
  bounds: readonly Bounds[],
  { breathe }: SearchOptions = {},
): Promise<Minimum> {
  const budget = { left: MAX_VALUES };
  const measure = async (at: readonly number[]): Promise<Vertex> => {
    const inside = at.map((x, i) => {
      const { low, high } = bounds[i] as Bounds;
      return Math.min(Math.max(x, Math.log(low)), Math.log(high));
    });
    const value = valueOf(inside.map(Math.exp));
    budget.left--;
    await breathe?.();
    return { at: inside, value: Number.isNaN(value) ? Infinity : value };
  };
  let best = await measure(start.map(Math.log));
  for (let n = 0; n < SEARCHES && budget.left > 0; n++) {
    const before = best.value;
    best = await search(best, measure, () => budget.left > 0);
    if (n > 0 && before - best.value <= Math.abs(before) * VALUE_TOLERANCE) break;
  }
  return { point: best.at.map(Math.exp), value: best.value };
}

async function search(
  start: Vertex,
  measure: (at: readonly number[]) => Promise<Vertex>,
  mayGoOn: () => boolean,
): Promise<Vertex> {
  const simplex = [start];
  for (let i = 0; i < start.at.length; i++) {
    const moved = await measure(start.at.map((x, j) => (i === j ? x + STEP : x)));
    // The start is on its upper bound.
    const is_same = moved.at[i] === start.at[i];
    simplex.push(is_same ? await measure(start.at.map((x, j) => (i === j ? x - STEP : x))) : moved);
  }
  for (;;) {
    simplex.sort((a, b) => a.value - b.value);
    const best = simplex[0] as Vertex;
    const worst = simplex.at(-1) as Vertex;
    if (!mayGoOn() || isFlat(best, worst, simplex)) return best;
    const rest = simplex.slice(0, -1);
    const centre = best.at.map((_, i) => rest.reduce((sum, one) => sum + (one.at[i] ?? 0), 0) / rest.length);
    const along = (factor: number) => measure(centre.map((x, i) => x + factor * ((worst.at[i] ?? 0) - x)));
    const found = await better(simplex, along);
    if (found === undefined) {
      for (const [i, one] of rest.slice(1).entries()) {
        simplex[i + 1] = await measure(one.at.map((x, j) => (x + (best.at[j] ?? 0)) / 2));
      }
      simplex[simplex.length - 1] = await measure(worst.at.map((x, j) => (x + (best.at[j] ?? 0)) / 2));
    } else simplex[simplex.length - 1] = found;
  }
}

/** The vertex that replaces the worst one of a sorted simplex; undefined: the simplex is to be shrunk. */
async function better(
  simplex: readonly Vertex[],
  along: (factor: number) => Promise<Vertex>,
): Promise<Vertex | undefined> {
  const best = simplex[0] as Vertex;
  const second_worst = simplex.at(-2) as Vertex;
  const worst = simplex.at(-1) as Vertex;
  const reflected = await along(-1);
  if (reflected.value < best.value) {
    const expanded = await along(-2);
    return expanded.value < reflected.value ? expanded : reflected;
  }
  if (reflected.value < second_worst.value) return reflected;
  const contracted = await along(reflected.value < worst.value ? -0.5 : 0.5);
  return contracted.value < Math.min(reflected.value, worst.value) ? contracted : undefined;
}

function isFlat(best: Vertex, worst: Vertex, simplex: readonly Vertex[]): boolean {
  if (worst.value - best.value > Math.abs(best.value) * VALUE_TOLERANCE) return false;
  return simplex.every(({ at }) => at.every((x, i) => Math.abs(x - (best.at[i] ?? 0)) <= POINT_TOLERANCE));
}
