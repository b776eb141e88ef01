/**
 * Whole numbers below 2^32 that look random, always the same for a seed: sfc32 by Chris Doty-Humphrey.
 */
export class SeededNumbers {
  #a: number;
  #b: number;
  #c = 1;
  #n = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = ~seed | 0;
    for (let i = 0; i < 20; i++) this.next();
  }

  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#n) | 0;
    this.#n = (this.#n + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number from 0 to `limit` − 1. */
  below(limit: number): number {
    return Math.floor((this.next() / 2 ** 32) * limit);
  }
}

/** A slice of work: so many draws take about a millisecond. */
const DRAWS_PER_SLICE = 20_000;

/** Draws of a whole test at most: about half a second. */
const MAX_DRAWS = 25_000_000;
const MOST = 9_999;
const FEWEST = 999;

/**
 * A permutation test of the difference of two means: how often the arms, drawn again at random from all players, differ at
 * least as much as they do. The measure is Welch's t, so that arms of different variance do no harm (Janssen 1997). Exact
 * for any distribution when nobody's value depends on the arm. The seed decides the draws: the same question has the same
 * answer.
 */
export class PermutationTest {
  readonly #values: Float64Array;
  readonly #small: number;
  readonly #numbers: SeededNumbers;
  readonly #observed: number;
  readonly #sum: number;
  readonly #squares: number;
  readonly #wanted: number;
  #done = 0;
  #extreme = 0;

  /** The values of the two arms, in any order of arms. Each has at least two. */
  constructor(one: readonly number[], other: readonly number[], seed: number) {
    const [small, large] = one.length <= other.length ? [one, other] : [other, one];
    this.#values = Float64Array.from([...small, ...large]);
    this.#small = small.length;
    this.#numbers = new SeededNumbers(seed);
    // About the mean: the squares of large values would lose digits.
    const mean = this.#values.reduce((sum, value) => sum + value, 0) / this.#values.length;
    let [sum, squares] = [0, 0];
    for (const [i, value] of this.#values.entries()) {
      const centred = value - mean;
      this.#values[i] = centred;
      sum += centred;
      squares += centred * centred;
    }
    this.#sum = sum;
    this.#squares = squares;
    this.#wanted = Math.max(FEWEST, Math.min(MOST, Math.floor(MAX_DRAWS / this.#small)));
    this.#observed = this.#distance();
  }

  /** Draws the arms some more times; returns whether all draws are done. */
  slice(): boolean {
    const times = Math.max(1, Math.floor(DRAWS_PER_SLICE / this.#small));
    // What differs by rounding alone is equal.
    const least = this.#observed * (1 - 1e-9);
    for (let n = 0; n < times && this.#done < this.#wanted; n++) {
      this.#draw();
      if (this.#distance() >= least) this.#extreme += 1;
      this.#done += 1;
    }
    return this.#done >= this.#wanted;
  }

  /** The p-value of the draws so far; the arms as they are count as one of them. */
  get p_value(): number {
    return (1 + this.#extreme) / (1 + this.#done);
  }

  /** Puts a random choice of all values into the places of the smaller arm. */
  #draw(): void {
    const values = this.#values;
    const { length } = values;
    for (let i = 0; i < this.#small; i++) {
      const j = i + this.#numbers.below(length - i);
      const value = values[j] ?? 0;
      values[j] = values[i] ?? 0;
      values[i] = value;
    }
  }

  /** The square of Welch's t. */
  #distance(): number {
    const [m, n] = [this.#small, this.#values.length - this.#small];
    let [sum, squares] = [0, 0];
    for (let i = 0; i < m; i++) {
      const value = this.#values[i] ?? 0;
      sum += value;
      squares += value * value;
    }
    const [mean, rest] = [sum / m, (this.#sum - sum) / n];
    const variance = (squares - m * mean * mean) / (m - 1) / m;
    const of_rest = (this.#squares - squares - n * rest * rest) / (n - 1) / n;
    const error = Math.max(variance, 0) + Math.max(of_rest, 0);
    return error > 0 ? (mean - rest) ** 2 / error : mean === rest ? 0 : Number.MAX_VALUE;
  }
}
