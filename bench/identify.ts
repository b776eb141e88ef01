import { randomUUID } from 'node:crypto';
import { startBenchServer, type BenchServer } from './child.ts';
import { load, rawRequest } from './load.ts';
import { alternate, median, perSecond, ratios, result, type Result, type Sample } from './measure.ts';

const ROUNDS = 5;
const CALLS = 3_000;
const LOAD = { connections: 16, total: CALLS, status: 200 };

/** A storm of logins: identify of new players, of known ones and of one id, against bare routes with the same statements. */
export async function benchIdentify(): Promise<Result[]> {
  const ours = await startBenchServer('service');
  const { postgres_url = '', tenant_id = '', project_id = '', api_key = '' } = ours.ready;
  const bare = await startBenchServer('bare-identify', { BENCH_POSTGRES_URL: postgres_url });
  const api_port = Number(new URL(ours.ready['base_url'] ?? '').port);
  const headers = { Authorization: `Bearer ${api_key}` };
  const call = (body: string) => rawRequest('POST', '/v1/players/identify', headers, body);
  const bareCall = (route: string) => (body: string) =>
    rawRequest('POST', `/${route}/${tenant_id}/${project_id}`, {}, body);
  const compare = async (
    what: string,
    target: { per_second: number },
    route: string,
    bodies: () => readonly string[],
  ) => {
    const pairs = await alternate(
      ROUNDS,
      () => timedLoad(ours, api_port, bodies().map(call)),
      () => timedLoad(bare, bare.port, bodies().map(bareCall(route))),
    );
    const rate = (side: 'a' | 'b') => median(pairs.map((pair) => perSecond(pair[side]))).toFixed(0);
    const note = `${rate('a')} against ${rate('b')} calls/s, ${CALLS} over ${LOAD.connections} connections`;
    return [
      result(`identify ${what} ÷ bare fastify route`, ratios(pairs, perSecond), { at_least: 0.6 }, note),
      result(
        `identify ${what}, per second`,
        pairs.map(({ a }) => perSecond(a)),
        { at_least: target.per_second },
        'the load is made on the same machine',
      ),
    ];
  };
  try {
    const known = newcomers();
    await load(api_port, known.map(call), LOAD);
    return [
      ...(await compare('of known players', { per_second: 2_500 }, 'known', () => known)),
      ...(await compare('of one known id', { per_second: 2_500 }, 'known', () => known.slice(0, 1))),
      ...(await compare('of new players', { per_second: 1_200 }, 'new', newcomers)),
    ];
  } finally {
    await bare.stop();
    await ours.stop();
  }
}

/** The calls of players who log in for the first time. */
function newcomers(): string[] {
  return Array.from({ length: CALLS }, () => {
    const id = randomUUID();
    const traits = { email: `${id}@example.com`, first_name: 'Ann', country: 'MT', level: 3 };
    return JSON.stringify({ external_id: `user-${id}`, anonymous_id: `device-${id}`, traits });
  });
}

async function timedLoad(server: BenchServer, port: number, requests: readonly Buffer[]): Promise<Sample> {
  const cpu_before = await server.cpu_ms();
  const started_ms = performance.now();
  await load(port, requests, LOAD);
  const wall_ms = performance.now() - started_ms;
  return { items: CALLS, wall_ms, cpu_ms: (await server.cpu_ms()) - cpu_before };
}
