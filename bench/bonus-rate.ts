import { setTimeout as sleep } from 'node:timers/promises';
import { connectPool } from '../src/platform/postgres/pool.ts';
import { makeTemplate } from './bonus-client.ts';
import { startBenchServer } from './child.ts';
import { callApi, makeSegment, type Caller } from './journey-client.ts';
import { result, type Result } from './measure.ts';
import { insertMembers } from './messaging-seed-queries.ts';

const RATE_PER_SECOND = 200;
const MEMBERS = 20_000;
const WARM_UP_MS = 10_000;
const MEASURED_MS = 15_000;
const ROUNDS = 3;

type Target = Caller & Record<string, string>;

/** How exactly a bonus campaign keeps its rate over the built-in sandbox, on a service with every role. */
export async function benchBonusRate(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const target = server.ready as Target;
  const owner = connectPool(target['postgres_url'] ?? '', { max: 1 });
  try {
    const segment_id = await makeSegment(target);
    await insertMembers(owner, target, segment_id, MEMBERS);
    const template_id = await makeTemplate(target, { max_grants_per_player: 1 });
    const body = { name: 'bench', template_id, segment_id, rate_per_second: RATE_PER_SECOND };
    const limits = { max_liability: MEMBERS * 1_000 };
    const { id } = await callApi(target, 'POST', '/v1/bonus-campaigns', { ...body, ...limits });
    const path = `/v1/bonus-campaigns/${String(id)}`;
    await callApi(target, 'POST', `${path}/issue`);
    await sleep(WARM_UP_MS);
    const deviations: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = await granted(target, path);
      await sleep(MEASURED_MS);
      const after = await granted(target, path);
      const per_second = ((after.grants - before.grants) * 1_000) / (after.at_ms - before.at_ms);
      deviations.push(Math.abs(per_second / RATE_PER_SECOND - 1));
    }
    const note = `${RATE_PER_SECOND} grants a second, ${MEASURED_MS / 1_000} s each`;
    return [result('deviation of a bonus campaign from its rate', deviations, { at_most: 0.02 }, note)];
  } finally {
    await owner.end({ timeout: 5 });
    await server.stop();
  }
}

async function granted(target: Target, path: string): Promise<{ grants: number; at_ms: number }> {
  const { stats } = await callApi<{ stats: { granted: number } }>(target, 'GET', path);
  return { grants: stats.granted, at_ms: performance.now() };
}
