import { startBenchServer, type BenchServer } from './child.ts';
import { load, rawRequest } from './load.ts';
import { alternate, median, perSecond, ratios, result, type Result, type Sample } from './measure.ts';
import { seedPlayers } from './seed-queries.ts';

const PLAYERS = 1_000_000;
const ROUNDS = 5;
const GETS = { connections: 32, total: 10_000, status: 200 };
const LISTED = { connections: 16, total: 600, status: 200 };
const PAGE = 50;
const DEEP_PAGE = 1_000;
const LISTS = 40;

/** Reads among a million players: one player and a page of the list against bare routes, and page 1,000 against page 1. */
export async function benchReads(): Promise<Result[]> {
  const ours = await startBenchServer('service');
  const { postgres_url = '', tenant_id = '', project_id = '', session_token = '' } = ours.ready;
  const bare = await startBenchServer('bare-get', { BENCH_POSTGRES_URL: postgres_url });
  try {
    const ids = await seedPlayers(postgres_url, { tenant_id, project_id }, PLAYERS);
    const headers = { Authorization: `Bearer ${session_token}` };
    const api_port = Number(new URL(ours.ready['base_url'] ?? '').port);
    const gets = ids.map((id) => rawRequest('GET', `/v1/players/${id}`, headers));
    const bareGets = ids.map((id) => rawRequest('GET', `/players/${tenant_id}/${project_id}/${id}`, {}));
    const lists = [rawRequest('GET', `/v1/players?limit=${PAGE}`, headers)];
    const bareLists = [rawRequest('GET', `/players/${tenant_id}/${project_id}`, {})];
    const compare = async (
      options: typeof GETS,
      [requests, bareRequests]: readonly [readonly Buffer[], readonly Buffer[]],
    ) => {
      const pairs = await alternate(
        ROUNDS,
        () => timedLoad(ours, { port: api_port, requests, options }),
        () => timedLoad(bare, { port: bare.port, requests: bareRequests, options }),
      );
      const rate = (side: 'a' | 'b') => median(pairs.map((pair) => perSecond(pair[side]))).toFixed(0);
      return { values: ratios(pairs, perSecond), note: `${rate('a')} against ${rate('b')} requests/s` };
    };
    const one = await compare(GETS, [gets, bareGets]);
    const page = await compare(LISTED, [lists, bareLists]);
    return [
      result('GET player ÷ bare fastify route', one.values, { at_least: 0.65 }, one.note),
      result(`list of ${PAGE} players ÷ bare fastify route`, page.values, { at_least: 0.6 }, page.note),
      await benchPages(ours.ready['base_url'] ?? '', session_token),
    ];
  } finally {
    await bare.stop();
    await ours.stop();
  }
}

async function timedLoad(
  server: BenchServer,
  { port, requests, options }: { port: number; requests: readonly Buffer[]; options: typeof GETS },
): Promise<Sample> {
  const cpu_before = await server.cpu_ms();
  const started_ms = performance.now();
  await load(port, requests, options);
  const wall_ms = performance.now() - started_ms;
  return { items: options.total, wall_ms, cpu_ms: (await server.cpu_ms()) - cpu_before };
}

async function benchPages(base_url: string, session: string): Promise<Result> {
  const page = async (cursor: string | null) => {
    const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await fetch(`${base_url}/v1/players?limit=${PAGE}${query}`, {
      headers: { Authorization: `Bearer ${session}` },
    });
    const { meta } = (await response.json()) as { meta: { next_cursor: string } };
    return meta.next_cursor;
  };
  let deep: string | null = null;
  for (let i = 1; i < DEEP_PAGE; i++) deep = await page(deep);
  const time = async (cursor: string | null) => {
    const started_ms = performance.now();
    await page(cursor);
    return performance.now() - started_ms;
  };
  const times: { first: number; deep: number }[] = [];
  for (let i = 0; i < LISTS; i++) times.push({ first: await time(null), deep: await time(deep) });
  const first = median(times.map((pair) => pair.first));
  const note = `page 1: ${first.toFixed(2)} ms, page ${DEEP_PAGE}: ${median(times.map((pair) => pair.deep)).toFixed(2)} ms, ${PAGE} of ${PLAYERS} players each`;
  return result(
    `list page ${DEEP_PAGE} ÷ page 1`,
    times.map((pair) => pair.deep / pair.first),
    { at_most: 1.2 },
    note,
  );
}
