import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestService } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { triggerFixture, type TriggerFixture } from '../../triggers/trigger-fixture.ts';
import { end, runFixture, wait, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let on: RunFixture;
let events: TriggerFixture;
beforeAll(async () => {
  service = await sharedService();
  on = runFixture(service);
  events = triggerFixture(service);
});
afterAll(async () => service?.close());

const nodes = [wait('w', DAY_MS, 'end'), end()];

/** An anonymous visitor who is a player; returns its id. */
const visitor = (anonymous_id: string) => events.person({ anonymous_id });

it('the runs of a merged player go on with the survivor; of twins the younger is cancelled', async () => {
  const gone = await visitor('visitor 1');
  const kept = await events.person({ external_id: 'known 1' });
  const [single, free] = await Promise.all([on.journey(nodes), on.journey(nodes)]);
  const [older = ''] = await on.begin(single, [gone], 'w');
  const [younger = ''] = await on.begin(single, [kept], 'w');
  await on.sql`update journey_runs set re_entry = 'after_exit' where journey_id = ${single}`;
  const [moved = ''] = await on.begin(free, [gone], 'w');
  const [stays = ''] = await on.begin(free, [kept], 'w');
  await on.sql`update journey_runs set trigger_key = 'the same' where journey_id = ${free}`;
  for (const [journey_id, run_id] of [
    [single, older],
    [single, younger],
    [free, moved],
    [free, stays],
  ] as const)
    await on.reached(journey_id, run_id, 'w');
  await events.person({ external_id: 'known 1', anonymous_id: 'visitor 1' });
  const runs = await Promise.all([
    on.run(single, older),
    on.run(single, younger),
    on.run(free, moved),
    on.run(free, stays),
  ]);
  expect(runs.map(({ player_id }) => player_id)).toEqual([kept, kept, kept, kept]);
  expect(runs.map(({ status, cancelled_by }) => [status, cancelled_by])).toEqual([
    ['running', null],
    ['cancelled', 'merged'],
    ['running', null],
    ['running', null],
  ]);
  expect(runs[1]?.history).toMatchObject([{ node_id: 'w', status: 'skipped', outcome: 'cancelled' }]);
  const { data } = await on.client.api<{ run_id: string }[]>('GET', `/v1/players/${gone}/journeys`);
  expect(data.map(({ run_id }) => run_id).sort()).toEqual([older, younger, moved, stays].sort());
  const listed = await on.client.api<{ run_id: string }[]>(
    'GET',
    `/v1/journeys/${single}/runs?player_id=${gone}&status=running`,
  );
  expect(listed.data.map(({ run_id }) => run_id)).toEqual([older]);
  const unknown = await on.client.api('GET', `/v1/journeys/${single}/runs?player_id=${randomUUID()}`);
  expect([unknown.status, unknown.data]).toEqual([200, []]);
});

it('the runs of a deleted player are cancelled', async () => {
  const player_id = await events.person();
  const journey_id = await on.journey(nodes);
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'w');
  expect((await on.client.api('DELETE', `/v1/players/${player_id}`)).status).toBe(200);
  const run = await on.run(journey_id, run_id);
  expect(run).toMatchObject({ status: 'cancelled', cancelled_by: 'player_deleted' });
  expect(run.history).toMatchObject([{ node_id: 'w', status: 'skipped', outcome: 'cancelled' }]);
  expect((await on.trigger(journey_id, player_id)).code).toBe('PLAYER_NOT_FOUND');
});
