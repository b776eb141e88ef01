import { DateTime } from 'luxon';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { beginEntry } from '../../../../src/engage/journeys/runs/audience-entry.ts';
import {
  JOURNEY_RANGES,
  notifyAudiences,
  selectRangeMembers,
} from '../../../../src/engage/journeys/runs/audience-queries.ts';
import { cutRange, takeRange } from '../../../../src/engage/member-ranges/range-queries.ts';
import type { Tx } from '../../../../src/platform/postgres/port.ts';
import type { TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { end, runFixture, startMovedService, wait, type MovedClock, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let clock: MovedClock;
let on: RunFixture;
beforeAll(async () => {
  ({ service, clock } = await startMovedService());
  on = runFixture(service);
});
afterAll(async () => service?.close());

const nodes = [wait('w', 30 * DAY_MS, 'end'), end()];

async function count(journey_id: string): Promise<number> {
  const [row] = await on.sql<{ runs: number }[]>`
    select count(*)::integer as runs from journey_runs where journey_id = ${journey_id}`;
  return row?.runs ?? 0;
}
/** Moves the clock on, and has the loop look: it would only after seconds that nobody moves on. */
async function pass(ms: number): Promise<void> {
  clock.pass(ms);
  await notifyAudiences(on.sql);
}
const open = (journey_id: string, sql: Tx = on.sql) =>
  sql`select from member_ranges where owner_id = ${journey_id}`;

it('existing members enter in ranges, each once', async () => {
  const player_ids = await on.client.players(2_300);
  const segment_id = await on.client.segment(player_ids);
  const journey_id = await on.journey(nodes, { kind: 'segment_entered', segment_id, existing_members: true });
  const other = await on.journey(nodes, { kind: 'segment_entered', segment_id });
  await pass(6_000);
  await until(async (saw) => saw(await count(journey_id)) === 2_300);
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  // A range that was interrupted is entered again: nobody twice.
  await on.sql`
    insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
    select 'journey', tenant_id, project_id, journey_id, occasion, '00000000-0000-0000-0000-000000000000'
    from journey_occasions where journey_id = ${journey_id}`;
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  expect(await count(journey_id)).toBe(2_300);
  expect(await count(other)).toBe(0);
  const [run] = (await on.runs(journey_id, '?limit=1')).data;
  expect(run).toMatchObject({ trigger: { kind: 'segment_entered' }, context: { trigger_payload: {} } });
});

const turn = async (journey_id: string, to: 'pause' | 'activate') => {
  const { status, error } = await on.client.api('POST', `/v1/journeys/${journey_id}/${to}`, {});
  expect(status, JSON.stringify(error)).toBe(200);
};

it('existing members enter once per journey: a resume is no activation', async () => {
  const player_ids = await on.client.players(3);
  const segment_id = await on.client.segment(player_ids);
  const trigger = { kind: 'segment_entered', segment_id, existing_members: true };
  const journey_id = await on.journey(nodes, trigger);
  await pass(6_000);
  await until(async (saw) => saw(await count(journey_id)) === 3);
  // A journey whose entry begins in the same look as one of the resumed journey would begin.
  const later = await on.journey(nodes, trigger);
  await turn(journey_id, 'pause');
  await turn(journey_id, 'activate');
  await pass(6_000);
  await until(async (saw) => saw(await count(later)) === 3);
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  expect(await count(journey_id)).toBe(3);
});

it('existing members whose entry a pause interrupts enter after the resume', async () => {
  const player_ids = await on.client.players(2);
  const segment_id = await on.client.segment(player_ids);
  const trigger = { kind: 'segment_entered', segment_id, existing_members: true };
  const journey_id = await on.journey(nodes, trigger, { max_entries_per_hour: 1 });
  await pass(6_000);
  await until(async (saw) => saw(await count(journey_id)) === 1);
  await turn(journey_id, 'pause');
  // Another audience enters meanwhile: the range of the paused journey is passed over, and stays.
  const other = await on.journey(nodes, trigger);
  await pass(3_700_000);
  await until(async (saw) => saw(await count(other)) === 2);
  expect(await open(journey_id)).toHaveLength(1);
  expect(await count(journey_id)).toBe(1);
  await turn(journey_id, 'activate');
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  expect(await count(journey_id)).toBe(2);
});

it('who joins the segment after the activation is no existing member', async () => {
  const [early = '', late = ''] = await on.client.players(2);
  const segment_id = await on.client.segment([early]);
  const journey_id = await on.journey(nodes, { kind: 'segment_entered', segment_id, existing_members: true });
  const { tenant_id, project_id } = service;
  await on.sql`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select ${tenant_id}, ${project_id}, ${segment_id}, ${late}, activated_at from journeys
    where journey_id = ${journey_id}`;
  await pass(6_000);
  await until(async (saw) => saw(await count(journey_id)) > 0 && saw((await open(journey_id)).length) === 0);
  // The change of the membership is what lets the other one enter.
  expect((await on.runs(journey_id)).data.map(({ player_id }) => player_id)).toEqual([early]);
});

it('a large audience is cut bit by bit, and nobody is left between the ranges', async () => {
  const segment_id = await on.client.segment([]);
  const { tenant_id, project_id } = service;
  await on.sql`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select ${tenant_id}, ${project_id}, ${segment_id}, md5(i::text)::uuid, now() from generate_series(1, 102500) i`;
  // All in one transaction, so that nobody else takes the ranges.
  const trigger = { kind: 'schedule', cron: '0 0 1 1 *', timezone: 'Europe/Malta', segment_id };
  const journey_id = await on.journey(nodes, trigger);
  const cut = await on.sql.begin(async (tx) => {
    const journey = { tenant_id, project_id, journey_id };
    const entry = { occasion: 'schedule', members_before: null };
    await beginEntry(tx, journey, entry);
    await beginEntry(tx, journey, entry);
    expect(await open(journey_id, tx)).toHaveLength(1);
    const sizes: number[] = [];
    for (let taken; (taken = await takeRange(tx, JOURNEY_RANGES, undefined, [])) !== undefined;) {
      const range = await cutRange(tx, JOURNEY_RANGES, taken, segment_id);
      sizes.push((await selectRangeMembers(tx, range, segment_id)).length);
    }
    return sizes;
  });
  expect(cut).toHaveLength(103);
  expect(Math.max(...cut)).toBe(1_000);
  expect(cut.reduce((sum, size) => sum + size, 0)).toBe(102_500);
});

it('the members of a segment enter at each occurrence of a schedule', async () => {
  const player_ids = await on.client.players(3);
  const segment_id = await on.client.segment(player_ids);
  // Half a day from now: an hour that begins between two steps of this test would be an occurrence more.
  const hour = (DateTime.fromMillis(clock.now_ms(), { zone: 'Europe/Malta' }).hour + 12) % 24;
  const trigger = { kind: 'schedule', cron: `0 ${hour} * * *`, timezone: 'Europe/Malta', segment_id };
  const journey_id = await on.journey(nodes, trigger);
  await on.sql`update journeys set activated_at = ${new Date(clock.now_ms())} where journey_id = ${journey_id}`;
  await pass(DAY_MS);
  await until(async (saw) => saw(await count(journey_id)) === 3);
  await pass(DAY_MS);
  await until(async (saw) => saw(await count(journey_id)) === 6);
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  const occasions = await on.sql<{ occasion: string }[]>`
    select occasion from journey_occasions where journey_id = ${journey_id}`;
  expect(occasions).toHaveLength(2);
});

it('no more players of an audience enter in an hour than the cap allows; the others follow', async () => {
  const player_ids = await on.client.players(5);
  const segment_id = await on.client.segment(player_ids);
  const trigger = { kind: 'segment_entered', segment_id, existing_members: true };
  const journey_id = await on.journey(nodes, trigger, { max_entries_per_hour: 2 });
  await pass(6_000);
  for (const entered of [2, 4, 5]) {
    await until(async (saw) => saw(await count(journey_id)) === entered);
    await pass(3_600_000);
  }
  await until(async (saw) => saw((await open(journey_id)).length) === 0);
  expect(await count(journey_id)).toBe(5);
});
