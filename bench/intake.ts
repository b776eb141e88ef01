import { startBenchServer, type BenchServer } from './child.ts';
import { mixedEvents } from './events.ts';
import { load, rawRequest } from './load.ts';
import {
  alternate,
  median,
  perCpuSecond,
  perSecond,
  ratios,
  result,
  type Result,
  type Sample,
} from './measure.ts';

const ROUNDS = 5;
const SINGLE = { connections: 64, total: 20_000, status: 202 };
const BATCHES = { connections: 16, total: 600, status: 202 };
const BATCH_SIZE = 100;

/** Intake against a bare server, in CPU time of the server's process; `servers` as in bench/platform.ts. */
export async function benchIntake(servers?: string): Promise<Result[]> {
  const environment: Record<string, string> = servers === undefined ? {} : { BENCH_SERVERS: servers };
  const where = servers === undefined ? 'on one machine' : 'with Kafka';
  const single = await compare('bare-http', environment, SINGLE, 1);
  const batch = await compare('bare-append', environment, BATCHES, BATCH_SIZE);
  const note = (pairs: { a: Sample; b: Sample }[]) =>
    `${cpuMicros(pairs, 'a')} against ${cpuMicros(pairs, 'b')} µs of CPU per event; ` +
    `${median(pairs.map(({ a }) => perSecond(a))).toFixed(0)} against ${median(pairs.map(({ b }) => perSecond(b))).toFixed(0)} events/s`;
  return [
    result(
      `single-event intake ÷ bare node:http, ${where}`,
      ratios(single, perCpuSecond),
      { at_least: servers === undefined ? 0.5 : 0.45 },
      note(single),
    ),
    result(
      `batch-of-100 intake ÷ bare parse and append, ${where}`,
      ratios(batch, perCpuSecond),
      { at_least: 0.7 },
      note(batch),
    ),
  ];
}

async function compare(
  bareName: string,
  environment: Record<string, string>,
  options: { connections: number; total: number; status: number },
  batch_size: number,
): Promise<{ a: Sample; b: Sample }[]> {
  const ours = await startBenchServer('service', environment);
  const bare = await startBenchServer(bareName, environment);
  try {
    let round = 0;
    const measure = (server: BenchServer, path: string) => async (): Promise<Sample> => {
      const requests = requestsFor(server, path, batch_size, `${round++}`, options.total);
      const cpu_before = await server.cpu_ms();
      const started_ms = performance.now();
      await load(server.port, requests, options);
      const wall_ms = performance.now() - started_ms;
      return { items: options.total * batch_size, wall_ms, cpu_ms: (await server.cpu_ms()) - cpu_before };
    };
    const path = batch_size === 1 ? '/v1/events' : '/v1/events/batch';
    return await alternate(ROUNDS, measure(ours, path), measure(bare, path));
  } finally {
    await ours.stop();
    await bare.stop();
  }
}

function requestsFor(
  server: BenchServer,
  path: string,
  batch_size: number,
  label: string,
  total: number,
): Buffer[] {
  const headers = { Authorization: `Bearer ${server.ready['api_key'] ?? 'none'}` };
  const distinct = Math.min(total, batch_size === 1 ? 2_000 : 100);
  const events = mixedEvents(distinct * batch_size, 1_000, label);
  return Array.from({ length: distinct }, (_, i) => {
    const body =
      batch_size === 1 ? events[i] : { events: events.slice(i * batch_size, (i + 1) * batch_size) };
    return rawRequest('POST', path, headers, JSON.stringify(body));
  });
}

function cpuMicros(pairs: { a: Sample; b: Sample }[], side: 'a' | 'b'): string {
  return median(pairs.map((pair) => (pair[side].cpu_ms * 1000) / pair[side].items)).toFixed(1);
}
