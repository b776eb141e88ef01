import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { mirrorJourneys } from '../../../processors/journey-mirror/index.ts';
import { ROLES } from '../../../src/config.ts';
import { cleanUpJourneys } from '../../../src/engage/journeys/runs/archive.ts';
import { Sweeper } from '../../../src/engage/journeys/runs/sweeper.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { end, runFixture, update, wait, type RunFixture } from './runs/run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let on: RunFixture;
beforeAll(async () => {
  // The mirror is driven by the tests.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'player-mirror')) });
  on = runFixture(service);
});
afterAll(async () => service?.close());

const stepsOf = async (run_id: string) =>
  (await on.sql`select from journey_steps where run_id = ${run_id}`).length;
const endedDaysAgo = (run_id: string, days: number) =>
  on.sql`update journey_runs set completed_at = now() - ${days} * interval '1 day' where run_id = ${run_id}`;

it('the steps of a run leave Postgres 90 days after its end, once ClickHouse has them, and are still shown', async () => {
  const { platform } = service;
  const journey_id = await on.journey([update('set', { seen: true }, 'end'), end()]);
  const [old_player = '', young_player = '', running_player = ''] = await on.client.players(3);
  const old = await on.start(journey_id, old_player);
  const young = await on.start(journey_id, young_player);
  const waiting = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const running = await on.start(waiting, running_player);
  for (const run_id of [old, young]) await on.reached(journey_id, run_id, 'completed');
  await on.reached(waiting, running, 'w');
  await endedDaysAgo(old, 91);
  await endedDaysAgo(young, 89);
  const before = await on.run(journey_id, old);
  expect(before.history.map(({ node_id }) => node_id)).toEqual(['set', 'end']);
  await cleanUpJourneys(platform);
  expect(await stepsOf(old)).toBe(2);
  // The mirror copies what is older than every running transaction.
  await until(async (saw) => saw((await mirrorJourneys(platform)).count) === 0 && saw(await isCopied(old)));
  await cleanUpJourneys(platform);
  expect([await stepsOf(old), await stepsOf(young)]).toEqual([0, 2]);
  expect(await on.run(journey_id, old)).toEqual(before);
  // Asked for again, nothing changes; what follows is copied like everything else.
  await cleanUpJourneys(platform);
  expect(await on.run(journey_id, old)).toEqual(before);
});

const isCopied = async (run_id: string) => {
  const rows = await service.platform.clickhouse.query(
    'select run_id from journey_steps final where run_id = {run_id:UUID}',
    { run_id },
  );
  return rows.length === 2;
};

it('a version goes 90 days after another one took its place, when no run is on it', async () => {
  const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const [player_id = ''] = await on.client.players(1);
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'w');
  const versions = async () => {
    const rows = await on.sql<{ version: number }[]>`
      select version from journey_versions where journey_id = ${journey_id} order by version`;
    return rows.map(({ version }) => version);
  };
  for (const [version, days] of [
    [2, 91],
    [3, 89],
  ] as const) {
    await on.sql`
      insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
      select tenant_id, project_id, journey_id, ${version}, trigger, graph, settings, now() - ${days} * interval '1 day'
      from journey_versions where journey_id = ${journey_id} and version = 1`;
  }
  await on.sql`update journeys set version = 3 where journey_id = ${journey_id}`;
  await cleanUpJourneys(service.platform);
  expect(await versions()).toEqual([1, 2, 3]);
  await on.client.api('POST', `/v1/journeys/${journey_id}/runs/${run_id}/cancel`);
  await cleanUpJourneys(service.platform);
  // The second one was live until 89 days ago.
  expect(await versions()).toEqual([2, 3]);
  const stats = await on.client.api<object>('GET', `/v1/journeys/${journey_id}/stats?version=1`);
  expect(stats.data).toMatchObject({ runs: { cancelled: 1 }, goal: null });
});

it('a run that began two years ago fails, with what is queued for it', async () => {
  const { platform } = service;
  const [template_id, provider_id] = [await on.client.template(), await on.client.provider()];
  await on.client.api('PATCH', `/v1/messaging-providers/${provider_id}`, { status: 'paused' });
  const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'w' };
  const journey_id = await on.journey([mail, wait('w', DAY_MS, 'end'), end()]);
  const [old_player = '', young_player = ''] = await on.client.players(2);
  const old = await on.start(journey_id, old_player);
  const young = await on.start(journey_id, young_player);
  for (const run_id of [old, young]) await on.reached(journey_id, run_id, 'w');
  await on.sql`update journey_runs set started_at = now() - interval '731 days' where run_id = ${old}`;
  await on.sql`update journey_runs set started_at = now() - interval '729 days' where run_id = ${young}`;
  vi.spyOn(platform.logger, 'warn').mockImplementation(() => undefined);
  const sweeper = new Sweeper(platform);
  while (await sweeper.turn());
  const ended = await on.run(journey_id, old);
  expect(ended).toMatchObject({ status: 'failed', error_code: 'JOURNEY_RUN_TOO_OLD', cancelled_by: null });
  expect(ended.history.map(({ node_id, status, error_code }) => [node_id, status, error_code])).toEqual([
    ['mail', 'completed', 'SKIPPED_CANCELLED'],
    ['w', 'failed', 'JOURNEY_RUN_TOO_OLD'],
  ]);
  expect(ended.history[0]?.message_status).toBe('failed');
  expect((await on.run(journey_id, young)).status).toBe('running');
  vi.restoreAllMocks();
});
