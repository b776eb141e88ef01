import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { startBenchServer, type BenchServer } from './child.ts';
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
const PAGES = 1_000;
const BATCH_SIZE = 20;
const LOAD = { connections: 16, total: 2_000 };
const ORIGIN = 'https://casino.example';
/** What analytics-node says about itself in each call. */
const CONTEXT = { library: { name: '@segment/analytics-node', version: '3.1.0' } };

/** Batches of 1,000 pages with a client key, each page at an address of its own, against the same with a server key. */
export async function benchPages(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_TRUSTED_PROXIES: '127.0.0.1' });
  try {
    const client_key = await createClientKey(server);
    const of_server = requestsOf(server.ready['api_key'] ?? '', {});
    const measure = (requests: readonly Buffer[]) => () => sampleOf(server, requests, 202);
    // Each round has addresses of its own, so that no limit is reached.
    let round = 0;
    const ofPages = (is_compressed: boolean) => () =>
      measure(requestsOf(client_key, { round: round++, is_compressed }))();
    const plain = await alternate(ROUNDS, ofPages(false), measure(of_server));
    const compressed = await alternate(ROUNDS, ofPages(true), measure(of_server));
    return [
      result('pages ÷ servers, intake', ratios(plain, perCpuSecond), { at_least: 0.9 }, noteOf(plain)),
      result(
        'pages with gzip ÷ servers, intake',
        ratios(compressed, perCpuSecond),
        { at_least: 0.9 },
        noteOf(compressed),
      ),
    ];
  } finally {
    await server.stop();
  }
}

/**
 * Batches of the Segment dialect as analytics-node sends them, against native batches of the same events, and against such with
 * the same information: with the context that is kept of a call, and a name.
 */
export async function benchDialect(): Promise<Result[]> {
  const server = await startBenchServer('service', {});
  try {
    const key = server.ready['api_key'] ?? '';
    const native = requestsOf(key, {});
    let round = 0;
    const dialect = () => sampleOf(server, dialectRequestsOf(key, round++), 200);
    const pairs = await alternate(ROUNDS, dialect, () => sampleOf(server, native, 202));
    const named = () => sampleOf(server, requestsOf(key, { context: CONTEXT }), 202);
    const equal = await alternate(ROUNDS, dialect, named);
    const cpu = ({ cpu_ms, items }: Sample) => cpu_ms / items;
    const what = 'Segment dialect ÷ native batch';
    return [
      result(`${what}, CPU per event`, ratios(pairs, cpu), { at_most: 1.3 }, noteOf(pairs)),
      result(
        `${what} of the same information, CPU per event`,
        ratios(equal, cpu),
        { at_most: 1.3 },
        noteOf(equal),
      ),
    ];
  } finally {
    await server.stop();
  }
}

async function sampleOf(server: BenchServer, requests: readonly Buffer[], status: number): Promise<Sample> {
  const cpu_before = await server.cpu_ms();
  const started_ms = performance.now();
  await load(server.port, requests, { ...LOAD, status });
  const wall_ms = performance.now() - started_ms;
  return { items: LOAD.total * BATCH_SIZE, wall_ms, cpu_ms: (await server.cpu_ms()) - cpu_before };
}

function noteOf(pairs: { a: Sample; b: Sample }[]): string {
  const cpu = (side: 'a' | 'b') =>
    median(pairs.map((pair) => (pair[side].cpu_ms * 1000) / pair[side].items)).toFixed(1);
  const rate = (side: 'a' | 'b') => median(pairs.map((pair) => perSecond(pair[side]))).toFixed(0);
  return `${cpu('a')} against ${cpu('b')} µs of CPU per event; ${rate('a')} against ${rate('b')} events/s`;
}

async function createClientKey({ ready }: BenchServer): Promise<string> {
  const { base_url = '', project_id = '', session_token = '' } = ready;
  const answer = await fetch(`${base_url}/v1/projects/${project_id}/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${session_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'pages', kind: 'client', allowed_origins: [ORIGIN] }),
  });
  const { data } = (await answer.json()) as { data: { key: string } };
  return data.key;
}

/** A batch of each page; with `round` as a browser sends it, with `context` in each event and named by an Idempotency-Key. */
function requestsOf(
  key: string,
  of: { round?: number; is_compressed?: boolean; context?: object },
): Buffer[] {
  const { round, is_compressed = false, context } = of;
  return Array.from({ length: PAGES }, (_, page) => {
    const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
    if (round !== undefined) {
      headers['Origin'] = ORIGIN;
      headers['X-Forwarded-For'] = `10.${round}.${page >> 8}.${page & 255}`;
      headers['User-Agent'] = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36';
    }
    if (context !== undefined) headers['Idempotency-Key'] = randomUUID();
    const body = JSON.stringify({ events: eventsOf(page, context === undefined ? {} : { context }) });
    if (!is_compressed) return rawRequest('POST', '/v1/events/batch', headers, body);
    return rawRequest('POST', '/v1/events/batch', { ...headers, 'Content-Encoding': 'gzip' }, gzipSync(body));
  });
}

/** What analytics-node sends for the events of each page; the ids are new in each round. */
function dialectRequestsOf(key: string, round: number): Buffer[] {
  const headers = { Authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` };
  return Array.from({ length: PAGES }, (_, page) => {
    const batch = eventsOf(page).map(
      ({ event, anonymous_id: anonymousId, timestamp, properties }, index) => ({
        type: 'track',
        anonymousId,
        event,
        properties,
        context: CONTEXT,
        timestamp,
        integrations: {},
        messageId: `node-next-${round}-${page}-${index}-${randomUUID()}`,
        _metadata: { nodeVersion: '20.20.2', jsRuntime: 'node' },
      }),
    );
    return rawRequest(
      'POST',
      '/v1/batch',
      headers,
      JSON.stringify({ batch, writeKey: key, sentAt: batch[0]?.timestamp }),
    );
  });
}

function eventsOf(page: number, more: object = {}) {
  return Array.from({ length: BATCH_SIZE }, (_, index) => ({
    event: index % 4 === 3 ? 'click' : 'page_view',
    anonymous_id: `visitor-${page}`,
    timestamp: '2026-03-01T20:15:00.000Z',
    properties: {
      url: `https://casino.example/games/${page}/${index}`,
      title: 'Games',
      surface: 'page',
      ...more,
    },
  }));
}
