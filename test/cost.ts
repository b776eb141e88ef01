const TRIES = 7;

/**
 * The cost of the work in ms: the median of several tries, or the first when that is far below the bound. A try costs its
 * processor time, or its wall time if that is less: the collector of garbage works on other threads meanwhile.
 */
export function medianCost(work: () => unknown, bound_ms: number): number {
  const first = costOf(work);
  if (first < bound_ms / 3) return first;
  const costs = [first, ...Array.from({ length: TRIES - 1 }, () => costOf(work))].toSorted((a, b) => a - b);
  return costs[(TRIES - 1) / 2] ?? Number.NaN;
}

function costOf(work: () => unknown): number {
  const before = process.cpuUsage();
  const started_ms = performance.now();
  work();
  const wall_ms = performance.now() - started_ms;
  const { user, system } = process.cpuUsage(before);
  return Math.min(wall_ms, (user + system) / 1_000);
}
