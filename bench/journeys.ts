import { claimByProject, claimDue } from '../src/engage/journeys/runs/claim-queries.ts';
import { JourneyRunner } from '../src/engage/journeys/runs/runner.ts';
import { newId } from '../src/platform/ids.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { end, month, startJourney, type Caller } from './journey-client.ts';
import { prepareMoves } from './journey-moves.ts';
import { insertRuns, isAnyDue, makeDue } from './journey-seed-queries.ts';
import { alternate, median, perSecond, ratios, result, type Result } from './measure.ts';
import { postgresUrlOf } from './platform.ts';

const RUNS = 10_000;
const ROUNDS = 5;
const CROWD = 100_000;
const SMALL_PROJECTS = 50;
const SMALL_RUNS = 15;

/** The runner against the bare SQL of the same rows, and what a crowd of one project costs small ones. */
export async function benchJourneys(service: TestService): Promise<Result[]> {
  const owner = connectPool(postgresUrlOf(service.platform), { max: 1 });
  try {
    return [...(await advancing(service, owner)), ...(await fairness(service, owner))];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

const erasure_key = Buffer.alloc(32);

async function advancing(service: TestService, owner: Db): Promise<Result[]> {
  const moves = await prepareMoves(service, { ...service.platform, erasure_key }, owner, RUNS);
  const pairs = await alternate(
    ROUNDS,
    () => moves.ours(),
    () => moves.bare(),
  );
  const rates = pairs.map(({ a }) => perSecond(a));
  const cpu_us = median(pairs.map(({ a }) => (a.cpu_ms * 1_000) / a.items));
  const bare = median(pairs.map(({ b }) => perSecond(b)));
  const note = `bare ${bare.toFixed(0)}/s; ${cpu_us.toFixed(1)} µs of CPU per run in this process; ${moves.hot_percent().toFixed(0)} % of the updates of runs touch no index`;
  return [
    result('advance wait → send → wait ÷ bare SQL', ratios(pairs, perSecond), { at_least: 0.5 }, note),
    result('advance wait → send → wait, runs/s', rates, { at_least: 5_000 }, `${RUNS} runs`),
  ];
}

/** Fifty projects with fifteen runs each that came due after 100,000 of one project. */
async function fairness(service: TestService, owner: Db): Promise<Result[]> {
  const big = await crowd(service, owner, CROWD);
  const projects: string[] = [];
  const small: string[] = [];
  for (let i = 0; i < SMALL_PROJECTS; i++) {
    const tenant = { ...(await service.newTenant()), base_url: service.base_url };
    projects.push(tenant.project_id);
    small.push(...(await crowd(tenant, owner, SMALL_RUNS)));
  }
  await makeDue(owner, [...big, ...small]);
  const claims_ms: number[] = [];
  for (let round = 0; round < ROUNDS; round++) claims_ms.push(await timeOfClaim(service));
  const runner = new JourneyRunner({ ...service.platform, erasure_key });
  const started_ms = performance.now();
  let batches = 0;
  while (await isAnyDue(owner, projects)) {
    await runner.turn();
    batches++;
  }
  const took_ms = performance.now() - started_ms;
  await runner.close();
  const note = `behind ${CROWD} of one project; ${took_ms.toFixed(0)} ms with moving the runs of these batches`;
  return [
    result(`batches until ${SMALL_PROJECTS} small projects are done`, [batches], { at_most: 2 }, note),
    result('claim by projects, ms', claims_ms, { at_most: 100 }, `${SMALL_PROJECTS + 1} projects`),
  ];
}

/** Runs of random players, which nothing of the journey asks about. */
async function crowd(caller: Caller, owner: Db, count: number): Promise<string[]> {
  const { tenant_id, project_id } = caller;
  const journey_id = await startJourney(caller, [month('a', 'b'), month('b', 'end'), end]);
  const standing = { tenant_id, project_id, journey_id, node_id: 'a', seq: 1 };
  return insertRuns(owner, standing, Array.from({ length: count }, newId));
}

const UNDONE = new Error('undone');

/** The claim of a batch by projects, which is rolled back, in milliseconds. */
async function timeOfClaim({ platform }: TestService): Promise<number> {
  let took_ms = 0;
  await platform.postgres.service
    .begin(async (tx) => {
      const now = new Date();
      const started_ms = performance.now();
      const shares = await claimByProject(tx, now, undefined, { limit: 1_000, quota: 100 });
      await claimDue(tx, now, 1_000 - shares.length);
      took_ms = performance.now() - started_ms;
      throw UNDONE;
    })
    .catch((error: unknown) => {
      if (error !== UNDONE) throw error;
    });
  return took_ms;
}
