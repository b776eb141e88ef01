/** ln(1 + e^x) without overflow. */
export function logOnePlusExp(x: number): number {
  return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));
}

/** Terms of the series, at most. */
const MAX_TERMS = 100_000;

/** Gauss's hypergeometric function 2F1(a, b; c; z) by its series, for 0 ≤ z < 1 and c > 0. */
export function hypergeometric(a: number, b: number, c: number, z: number): number {
  let term = 1;
  let sum = 1;
  for (let n = 0; n < MAX_TERMS; n++) {
    term *= (((a + n) * (b + n)) / (c + n)) * (z / (n + 1));
    sum += term;
    if (Math.abs(term) <= Math.abs(sum) * 1e-15) break;
  }
  return sum;
}
