/** How much a property test does: a whole number from the environment, for long runs by hand or at night. */
export function runsFromEnvironment(name: string, usual: number): number {
  const given = process.env[name];
  if (given === undefined || given === '') return usual;
  const runs = Number(given);
  if (!Number.isSafeInteger(runs) || runs < 0)
    throw new Error(`${name} must be a whole number, not ${given}`);
  return runs;
}

/**
 * The parameters every property shares: `seed` repeats a failed run (the failure prints it), and a failure ends
 * the search at once where each run is long.
 */
export function propertyParameters(runs_variable: string, usual_runs: number) {
  const seed = runsFromEnvironment('PROPERTY_SEED', 0);
  return { numRuns: runsFromEnvironment(runs_variable, usual_runs), ...(seed === 0 ? {} : { seed }) };
}
