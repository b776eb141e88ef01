import { setTimeout as sleep } from 'node:timers/promises';
import { startBenchServer, type Memory } from './child.ts';
import { median, result, type Result } from './measure.ts';
import { EVENTS_PER_SECOND, sendSteadily } from './steady.ts';

const WARM_UP_MS = 180_000;
const MEASURED_MS = 600_000;
const SAMPLE_EVERY_MS = 10_000;
const MEGABYTE = 1_048_576;

/**
 * Memory of the whole service in one process (intake, fold, sink, mirror, the embedded ClickHouse) under
 * steady load: the last two minutes of ten against the first two. The warm-up fills the caches, which are bounded.
 */
export async function benchMemory(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  try {
    const stop = new AbortController();
    const load = sendSteadily(server.ready, stop.signal);
    await sleep(WARM_UP_MS);
    const samples: Memory[] = [];
    for (let i = 0; i < MEASURED_MS / SAMPLE_EVERY_MS; i++) {
      samples.push(await server.memory());
      await sleep(SAMPLE_EVERY_MS);
    }
    stop.abort();
    const { sent } = await load;
    const note = `${sent} events at ${EVENTS_PER_SECOND}/s`;
    return [
      growth(
        'resident memory',
        samples.map((sample) => sample.resident_bytes),
        note,
      ),
      growth(
        'JavaScript heap',
        samples.map((sample) => sample.heap_bytes),
        note,
      ),
    ];
  } finally {
    await server.stop();
  }
}

function growth(what: string, bytes: readonly number[], note: string): Result {
  const fifth = Math.floor(bytes.length / 5);
  const [first, last] = [median(bytes.slice(0, fifth)), median(bytes.slice(-fifth))];
  const megabytes = `${(first / MEGABYTE).toFixed(0)} → ${(last / MEGABYTE).toFixed(0)} MB`;
  const each = bytes.filter((_, i) => i % 6 === 0).map((sample) => (sample / MEGABYTE).toFixed(0));
  return result(
    `${what}, last two minutes of ten ÷ first two`,
    [last / first],
    { at_most: 1.1 },
    `${megabytes}, by the minute ${each.join(' ')}; ${note}`,
  );
}
