/** The number of runs of a property test: a whole number from the environment, for long runs by hand or at night. */
export function runsFromEnvironment(name: string, usual: number): number {
  const runs = wholeNumber(name) ?? usual;
  if (runs < 0) throw new Error(`${name} must be a whole number, not ${runs}`);
  return runs;
}

function wholeNumber(name: string): number | undefined {
  const given = process.env[name];
  if (given === undefined || given === '') return undefined;
  const number = Number(given);
  if (!Number.isSafeInteger(number)) throw new Error(`${name} must be a whole number, not ${given}`);
  return number;
}

/** The parameters that every property test shares. PROPERTY_SEED repeats a failed run; the failure prints its seed. */
export function propertyParameters(runs_variable: string, usual_runs: number) {
  // Half of the seeds that fast-check draws, and prints, are negative.
  const seed = wholeNumber('PROPERTY_SEED') ?? 0;
  return { numRuns: runsFromEnvironment(runs_variable, usual_runs), ...(seed === 0 ? {} : { seed }) };
}
