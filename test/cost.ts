const TRIES = 7;

/** What `bareWork` costs on the reference machine: the bounds of tests are in ms of that machine. */
const REFERENCE_MS = 2;

const TEXT = 'a+1@'.repeat(1 << 17);
const JSON_TEXT = `[${'{"n":1e20},'.repeat(1 << 13)}1]`;

/**
 * The cost of the work in ms of the reference machine: the median of several tries, or the first when that is far below the
 * bound. Each try is compared with bare work of the same moment, because the machines of tests differ by a factor of two,
 * also from day to day.
 */
export function medianCost(work: () => unknown, bound_ms: number): number {
  const first = costOf(work);
  if (first < bound_ms / 3) return first;
  const costs = Array.from({ length: TRIES }, () => {
    const bare_ms = costOf(bareWork);
    return (costOf(work) / bare_ms) * REFERENCE_MS;
  });
  return costs.toSorted((a, b) => a - b)[(TRIES - 1) / 2] ?? Number.NaN;
}

/** What reading a text costs without any rule: each character once, and JSON that becomes objects. */
function bareWork(): number {
  let hash = 0;
  for (let i = 0; i < TEXT.length; i++) hash = (hash * 31 + TEXT.charCodeAt(i)) | 0;
  return hash + (JSON.parse(JSON_TEXT) as unknown[]).length;
}

/** A try costs its processor time, or its wall time if that is less: the collector of garbage works on other threads. */
function costOf(work: () => unknown): number {
  const before = process.cpuUsage();
  const started_ms = performance.now();
  work();
  const wall_ms = performance.now() - started_ms;
  const { user, system } = process.cpuUsage(before);
  return Math.min(wall_ms, (user + system) / 1_000);
}
