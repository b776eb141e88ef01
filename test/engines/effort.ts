/** The efforts, from the least to the most. */
export const EFFORTS = ['quick', 'ci', 'nightly'] as const;

/**
 * How much a run of the tests proves: `quick` every rule and every endpoint, and one line through every pipeline; `ci`
 * all that a change must keep; `nightly` all there is, with large counts.
 */
export type Effort = (typeof EFFORTS)[number];

/** TEST_EFFORT; vitest.config.ts lets it choose the files, and `runs` the counts. */
export const EFFORT = effortNamed(process.env['TEST_EFFORT'] || 'quick');

/**
 * What everything random is drawn from. A change meets the same cases as the change before it; each night draws others.
 * A night prints its seed, and TEST_SEED repeats it.
 */
export const SEED = seedNamed(process.env['TEST_SEED'] || (EFFORT === 'nightly' ? drawnSeed() : '20260101'));
// Vitest loads this file for its configuration and again for a reporter: both must name the same seed.
process.env['TEST_SEED'] = String(SEED);

/**
 * How often this effort repeats what `ci` repeats so often: a fifth of it, or ten times as often, unless it is named. On
 * servers the night repeats it as often as `ci` elsewhere, unless it is named.
 */
export function runs(
  ci: number,
  { quick = Math.ceil(ci / 5), nightly = ci * 10, nightly_on_servers = ci } = {},
): number {
  // The night has the effort `ci` on servers: see vitest.config.ts.
  const is_on_servers = process.env['TEST_WIRING'] === 'distributed';
  return { quick, ci: is_on_servers ? nightly_on_servers : ci, nightly }[EFFORT];
}

function effortNamed(name: string): Effort {
  const effort = EFFORTS.find((one) => one === name);
  if (effort === undefined) throw new Error(`TEST_EFFORT is ${EFFORTS.join(', ')}, not ${name}`);
  return effort;
}

function seedNamed(text: string): number {
  const seed = Number(text);
  if (!Number.isSafeInteger(seed)) throw new Error(`TEST_SEED is a whole number, not ${text}`);
  return seed;
}

function drawnSeed(): string {
  return String(Math.floor(Math.random() * 1_000_000_000));
}
