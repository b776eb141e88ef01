import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { readChangedJourneyRows } from '../../../src/analytics/journey-mirror-queries.ts';
import { MIRROR_START } from '../../../src/analytics/mirror-queries.ts';
import { isInHoldout } from '../../../src/engage/journeys/runs/entry.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { triggerFixture } from '../triggers/trigger-fixture.ts';
import { end, runFixture, wait, type RunFixture } from './runs/run-fixture.ts';

const DAY_MS = 86_400_000;

interface Stats {
  runs: Record<string, number>;
  nodes: { node_id: string; sends: Record<string, number> | null }[];
  goal: Record<string, number> | null;
}

let service: TestService;
let on: RunFixture;
beforeAll(async () => {
  service = await sharedService();
  on = runFixture(service);
});
afterAll(async () => service?.close());

const caughtUp = () => waitUntilCaughtUp(service.platform, 90_000);
const statsOf = (journey_id: string, query = '') =>
  on.client.api<Stats>('GET', `/v1/journeys/${journey_id}/stats${query}`);
const copiesOf = (table: 'journey_runs' | 'journey_steps', journey_id: string) =>
  service.platform.clickhouse.query<Record<string, unknown>>(
    `select * from ${table} final where journey_id = {journey_id:UUID} order by run_id`,
    { journey_id },
  );
const node = (node_id: string, counts: Record<string, unknown>) => {
  return { node_id, entered: 0, waiting: 0, completed: 0, failed: 0, exited: 0, sends: null, ...counts };
};

it('every node says how many runs came, wait, went on, failed and left, and what became of its messages', async () => {
  const [template_id, provider_id] = [await on.client.template(), await on.client.provider()];
  const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'until' };
  const waiting = {
    id: 'until',
    type: 'wait_for_event',
    event: 'custom_go',
    timeout_ms: DAY_MS,
    next: 'end',
    timeout_next: 'end',
  };
  const journey_id = await on.journey([mail, waiting, end()]);
  expect((await statsOf(journey_id)).data).toEqual({
    runs: { running: 0, completed: 0, failed: 0, cancelled: 0 },
    nodes: [
      node('mail', { sends: expect.objectContaining({ recipients_total: 0, sent: 0, capped: 0 }) as object }),
      node('until', {}),
      node('end', {}),
    ],
    goal: null,
  });
  const [goes = '', waits = '', leaves = '', fails = ''] = await on.client.players(4);
  const runs: string[] = [];
  for (const player_id of [goes, waits, leaves]) runs.push(await on.start(journey_id, player_id));
  for (const run_id of runs) await on.reached(journey_id, run_id, 'until');
  const logged = vi.spyOn(service.platform.logger, 'error').mockImplementation(() => undefined);
  const [lost = ''] = await on.begin(journey_id, [fails], 'gone');
  await on.reached(journey_id, lost, 'failed');
  logged.mockRestore();
  await on.client.event(goes, 'custom_go');
  await on.reached(journey_id, runs[0] ?? '', 'completed');
  await on.client.api('POST', `/v1/journeys/${journey_id}/runs/${runs[2]}/cancel`);
  for (const run_id of runs) {
    await until('the message is sent', async (saw) => {
      const { history } = saw(await on.run(journey_id, run_id));
      return history[0]?.message_status === 'sent';
    });
  }
  await caughtUp();
  const wanted = {
    runs: { running: 1, completed: 1, failed: 1, cancelled: 1 },
    nodes: [
      node('mail', {
        entered: 3,
        completed: 3,
        sends: {
          recipients_total: 3,
          sent: 3,
          delivered: 0,
          opened: 0,
          clicked: 0,
          bounced: 0,
          failed: 0,
          capped: 0,
        },
      }),
      node('until', { entered: 3, waiting: 1, completed: 1, exited: 1 }),
      node('end', { entered: 1, completed: 1 }),
      node('gone', { entered: 1, failed: 1 }),
    ],
    goal: null,
  };
  expect((await statsOf(journey_id)).data).toEqual(wanted);
  expect((await statsOf(journey_id, '?version=1')).data).toEqual(wanted);
  const unknown = await statsOf(journey_id, '?version=2');
  expect([unknown.status, unknown.code]).toEqual([404, 'JOURNEY_VERSION_NOT_FOUND']);
  expect((await statsOf(journey_id, '?version=0')).status).toBe(422);
});

it('a goal counts for runs that were held out, too, within its window and whether the run lasts or not', async () => {
  const settings = {
    holdout_percent: 50,
    goal: { event: 'custom_paid', where: { size: { gte: 3 } }, window_days: 2, exit: false },
  };
  // No run has done a step yet.
  const nodes = [wait('w', 30 * DAY_MS, 'end'), end()];
  const journey_id = await on.journey(nodes, { kind: 'event', event: 'custom_in' }, settings);
  const players = await on.client.players(24);
  for (const player_id of players) await on.client.event(player_id, 'custom_in');
  await until(
    'all have entered',
    async (saw) => saw((await on.runs(journey_id, '?limit=100')).data.length) === players.length,
  );
  const [paid, small, late] = [players.slice(0, 12), players.slice(12, 16), players.slice(16)];
  await on.sql`
    update journey_runs set started_at = now() - interval '49 hours', changed_xid = pg_current_xact_id()
    where journey_id = ${journey_id} and player_id = any (${`{${late.join()}}`}::text::uuid[])`;
  for (const player_id of [...paid, ...late]) await on.client.event(player_id, 'custom_paid', { size: 3 });
  for (const player_id of small) await on.client.event(player_id, 'custom_paid', { size: 2 });
  await caughtUp();
  const heldOut = (ids: readonly string[]) =>
    ids.filter((player_id) => isInHoldout(journey_id, player_id, 50)).length;
  const [all_out, paid_out] = [heldOut(players), heldOut(paid)];
  expect((await statsOf(journey_id)).data.goal).toEqual({
    runs: players.length - all_out,
    reached: paid.length - paid_out,
    held_out_runs: all_out,
    held_out_reached: paid_out,
  });
});

it('runs in ClickHouse belong to the survivor after a merge, and to the version that they were moved to', async () => {
  const events = triggerFixture(service);
  const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const gone = await events.person({ anonymous_id: 'stats visitor' });
  const kept = await events.person({ external_id: 'stats known' });
  const run_id = await on.start(journey_id, gone);
  await on.reached(journey_id, run_id, 'w');
  await caughtUp();
  expect(await copiesOf('journey_runs', journey_id)).toMatchObject([{ run_id, player_id: gone, version: 1 }]);
  await events.person({ external_id: 'stats known', anonymous_id: 'stats visitor' });
  await caughtUp();
  expect(await copiesOf('journey_runs', journey_id)).toMatchObject([{ run_id, player_id: kept, version: 1 }]);
  await on.sql`
    insert into journey_versions select (jsonb_populate_record(v, '{"version": 2}')).* from journey_versions v
    where journey_id = ${journey_id}`;
  const moved = await on.client.api('POST', `/v1/journeys/${journey_id}/migrate-runs`, {
    from_version: 1,
    to_version: 2,
    node_map: {},
    unmapped: 'stay',
    recompute_waits: false,
    dry_run: false,
  });
  expect(moved.data, JSON.stringify(moved.error)).toMatchObject({ moved: 1 });
  await caughtUp();
  expect(await copiesOf('journey_runs', journey_id)).toMatchObject([{ run_id, player_id: kept, version: 2 }]);
});

it('a page of changes ends between runs, so that no step of a transaction is passed over', async () => {
  const journey_id = await on.journey([wait('a', 0, 'b'), wait('b', 0, 'c'), wait('c', 0, 'end'), end()]);
  const run_ids = await on.begin(journey_id, await on.client.players(7), 'a');
  for (const run_id of run_ids) await on.reached(journey_id, run_id, 'completed');
  await caughtUp();
  const sql = service.platform.postgres.service;
  const whole = await readChangedJourneyRows(sql, MIRROR_START, 100_000);
  const paged: string[] = [];
  for (let position = MIRROR_START, full = true; full;) {
    const { rows, is_full } = await readChangedJourneyRows(sql, position, 7);
    paged.push(...rows.map(({ line }) => line));
    const last = rows.at(-1);
    if (last !== undefined) position = { ...position, changed_xid: last.changed_xid, row_id: last.run_id };
    full = is_full;
  }
  expect(paged).toEqual(whole.rows.map(({ line }) => line));
  expect(await copiesOf('journey_steps', journey_id)).toHaveLength(
    whole.rows.filter((row) => row.table === 'journey_steps' && run_ids.includes(row.run_id)).length,
  );
});
