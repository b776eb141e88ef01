/** One timed run: how many items, how long it took, and the CPU time of the measured process. */
export interface Sample {
  items: number;
  wall_ms: number;
  cpu_ms: number;
}

/** One line of the benchmark's table. */
export interface Result {
  what: string;
  /** Median, least and greatest of the measured figure. */
  median: number;
  least: number;
  greatest: number;
  target: string;
  met: boolean;
  note: string;
}

/** Times `run` in this process; `run` returns how many items it handled. */
export async function timed(run: () => Promise<number>): Promise<Sample> {
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const started_ms = performance.now();
  const items = await run();
  const wall_ms = performance.now() - started_ms;
  const used = process.cpuUsage(cpu);
  return { items, wall_ms, cpu_ms: (used.user + used.system) / 1000 };
}

/** Runs two measurements in turn, A B A B …, after one uncounted round: changes of the machine affect both. */
export async function alternate(
  rounds: number,
  a: () => Promise<Sample>,
  b: () => Promise<Sample>,
): Promise<{ a: Sample; b: Sample }[]> {
  const pairs: { a: Sample; b: Sample }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const pair = { a: await a(), b: await b() };
    if (round > 0) pairs.push(pair);
  }
  return pairs;
}

export const perSecond = (sample: Sample): number => (sample.items / sample.wall_ms) * 1000;
export const perCpuSecond = (sample: Sample): number => (sample.items / sample.cpu_ms) * 1000;

/** The ratio A ÷ B of a rate, for each pair. */
export function ratios(pairs: { a: Sample; b: Sample }[], rate: (sample: Sample) => number): number[] {
  return pairs.map(({ a, b }) => rate(a) / rate(b));
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value at this fraction of the sorted values: 0.5 is the median. */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((x, y) => x - y);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

/** The median of repeated measurements, compared with its target. */
export function result(
  what: string,
  values: readonly number[],
  target: { at_least: number } | { at_most: number },
  note: string,
): Result {
  const middle = median(values);
  const met = 'at_least' in target ? middle >= target.at_least : middle <= target.at_most;
  const text = 'at_least' in target ? `≥ ${target.at_least}` : `≤ ${target.at_most}`;
  return {
    what,
    median: middle,
    least: Math.min(...values),
    greatest: Math.max(...values),
    target: text,
    met,
    note,
  };
}

export function formatResult(r: Result): string {
  const figure = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
  const range = `${figure(r.median)} (${figure(r.least)} – ${figure(r.greatest)})`;
  return `${r.met ? 'met   ' : 'MISSED'}  ${r.what}: ${range}, target ${r.target}\n        ${r.note}`;
}
