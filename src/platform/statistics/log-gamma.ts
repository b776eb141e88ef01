/** Lanczos coefficients for g = 7, n = 9. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const;
const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);
/** From here on Stirling's series is exact to a double. */
const STIRLING_FROM = 16;

/** The logarithm of the gamma function of a positive number. */
export function logGamma(x: number): number {
  if (x >= STIRLING_FROM) {
    const inverse = 1 / x;
    const square = inverse * inverse;
    const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)));
    return (x - 0.5) * Math.log(x) - x + HALF_LOG_TWO_PI + series;
  }
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const base = x + 6.5;
  let sum: number = LANCZOS[0];
  for (let i = 1; i < LANCZOS.length; i++) sum += (LANCZOS[i] ?? 0) / (x - 1 + i);
  return HALF_LOG_TWO_PI + (x - 0.5) * Math.log(base) - base + Math.log(sum);
}
