import { afterAll, beforeAll, expect, it } from 'vitest';
import { cleanUpJourneys } from '../../src/engage/journeys/runs/archive.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { end, runFixture, update, type RunFixture } from '../engage/journeys/runs/run-fixture.ts';
import { reconcile } from './rebuild-fixture.ts';

let service: TestService;
let on: RunFixture;
beforeAll(async () => {
  service = await startTestService();
  on = runFixture(service);
});
afterAll(() => service?.close());

it('steps that only ClickHouse has are no difference, and a rebuild keeps them', async () => {
  const journey_id = await on.journey([update('set', { seen: true }, 'end'), end()]);
  const [old_player = '', young_player = ''] = await on.client.players(2);
  const [old, young] = [await on.start(journey_id, old_player), await on.start(journey_id, young_player)];
  for (const run_id of [old, young]) await on.reached(journey_id, run_id, 'completed');
  await reconcile(service, {});
  await on.sql`update journey_runs set completed_at = now() - interval '91 days' where run_id = ${old}`;
  await cleanUpJourneys(service.platform);
  expect(await on.sql`select from journey_steps where run_id = ${old}`).toHaveLength(0);
  const before = [await on.run(journey_id, old), await on.run(journey_id, young)];
  expect(before[0]?.history).toHaveLength(2);
  expect((await reconcile(service, {})).listed).toEqual([]);
  await service.platform.clickhouse.command('truncate table journey_runs');
  const of_young = { run_id: young };
  await service.platform.clickhouse.command(
    'delete from journey_steps where run_id = {run_id:UUID}',
    of_young,
  );
  const damaged = await reconcile(service, {});
  expect(damaged.listed.map(({ table, field }) => `${table} ${field}`).toSorted()).toEqual(
    [
      `journey_runs run ${old}`,
      `journey_runs run ${young}`,
      `journey_steps step ${young} 0000000001`,
      `journey_steps step ${young} 0000000002`,
    ].toSorted(),
  );
  expect(await reconcile(service, { repair: true })).toMatchObject({ differences: 0, repaired_projects: 1 });
  expect([await on.run(journey_id, old), await on.run(journey_id, young)]).toEqual(before);
  const copies = await service.platform.clickhouse.query(
    'select run_id from journey_steps final where journey_id = {journey_id:UUID}',
    { journey_id },
  );
  expect(copies).toHaveLength(4);
});
