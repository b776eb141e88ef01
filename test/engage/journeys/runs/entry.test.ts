import { afterAll, beforeAll, expect, it } from 'vitest';
import { isInHoldout } from '../../../../src/engage/journeys/runs/entry.ts';
import type { Tx } from '../../../../src/platform/postgres/port.ts';
import { refusingCommits } from '../../../engines/refused-commit.ts';
import type { TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { triggerFixture, type TriggerFixture } from '../../triggers/trigger-fixture.ts';
import { end, runFixture, startMovedService, wait, type MovedClock, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let clock: MovedClock;
let on: RunFixture;
let events: TriggerFixture;
/** Whether the commit of a transaction is refused. */
let isRefused = (_tx: Tx) => Promise.resolve(false);
beforeAll(async () => {
  ({ service, clock } = await startMovedService(({ postgres }) => {
    const { db } = refusingCommits(postgres.service, (tx) => isRefused(tx));
    return { postgres: { ...postgres, service: db } };
  }));
  on = runFixture(service);
  events = triggerFixture(service);
});
afterAll(async () => service?.close());

const nodes = [wait('w', DAY_MS, 'end'), end()];
const by = (event: string, where?: object) => ({
  kind: 'event',
  event,
  ...(where === undefined ? {} : { where }),
});

/** The runs of a journey once there are so many. */
async function begun(journey_id: string, count: number) {
  await until(async (saw) => saw((await on.runs(journey_id)).data.length) >= count);
  return (await on.runs(journey_id)).data;
}

/** How many entries are counted with this outcome. */
async function entries(outcome: string): Promise<number> {
  const { values } = await service.platform.metrics.journeyEntries.get();
  return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
}

/** Resolves when every recorded event is decided, and every event of this name has been seen. */
async function decided(marker: string, player_id: string): Promise<void> {
  const seen = await on.journey(nodes, by(marker));
  await events.event(player_id, marker);
  await begun(seen, 1);
  await until(async (saw) => {
    const waiting = saw(await on.sql`select from trigger_events where decided_at is null limit 1`);
    return waiting.length === 0;
  });
}

it('an event that satisfies the filter starts a run with its properties; others start none', async () => {
  const player_id = await events.person();
  const journey_id = await on.journey(
    nodes,
    by('custom_spin', { level: { gte: 5 }, game: ['slots', 'dice'] }),
  );
  await events.event(player_id, 'custom_spin', { level: 4, game: 'slots' });
  await events.event(player_id, 'custom_spin', { level: 7, game: 'chess' });
  await events.event(player_id, 'custom_spin', { level: 7, game: 'dice' });
  const [run] = await begun(journey_id, 1);
  expect(run).toMatchObject({
    player_id,
    context: { trigger_payload: { level: 7, game: 'dice' } },
    trigger: { kind: 'event', event: 'custom_spin', ingestion_id: expect.any(String) },
  });
  await decided('custom_after_spin', player_id);
  expect((await on.runs(journey_id)).data).toHaveLength(1);
});

it('amounts are compared in the base currency', async () => {
  const player_id = await events.person();
  const journey_id = await on.journey(nodes, by('deposit_confirmed', { amount: { gte: 5_000 } }));
  await events.deposit(player_id, 'small', 4_999);
  await events.deposit(player_id, 'large', 5_000);
  const [run] = await begun(journey_id, 1);
  expect(run?.context).toMatchObject({ trigger_payload: { transaction_id: 'large' } });
});

it('a player enters once, again after the end, always, or not within an interval', async () => {
  const player_id = await events.person();
  const mode = (re_entry: object) => on.journey(nodes, by('custom_enter'), { re_entry });
  const [once, after_exit, always, spaced] = await Promise.all([
    mode({ mode: 'once' }),
    mode({ mode: 'after_exit' }),
    mode({ mode: 'always' }),
    mode({ mode: 'always', min_interval_ms: 3 * DAY_MS }),
  ]);
  const counts = async () =>
    Promise.all([once, after_exit, always, spaced].map(async (id) => (await on.runs(id)).data.length));
  await events.event(player_id, 'custom_enter');
  await events.event(player_id, 'custom_enter');
  await decided('custom_enter_1', player_id);
  expect(await counts()).toEqual([1, 1, 2, 1]);
  clock.pass(DAY_MS);
  await until(async (saw) => saw((await on.runs(after_exit, '?status=completed')).data.length) === 1);
  await events.event(player_id, 'custom_enter');
  await decided('custom_enter_2', player_id);
  expect(await counts()).toEqual([1, 2, 3, 1]);
  clock.pass(3 * DAY_MS);
  await until(async (saw) => saw((await on.runs(after_exit, '?status=completed')).data.length) === 2);
  await events.event(player_id, 'custom_enter');
  await decided('custom_enter_3', player_id);
  expect(await counts()).toEqual([1, 3, 4, 2]);
});

it('a share of the players is held out, and above the cap of an hour no event starts a run', async () => {
  const journey_id = await on.journey(nodes, by('custom_share'), { holdout_percent: 50 });
  const capped = await on.journey(nodes, by('custom_share'), { max_entries_per_hour: 3 });
  const player_ids = await Promise.all(Array.from({ length: 8 }, () => events.person()));
  for (const player_id of player_ids) await events.event(player_id, 'custom_share');
  const runs = await begun(journey_id, 8);
  for (const { player_id, status, outcome } of runs) {
    const is_held_out = isInHoldout(journey_id, player_id, 50);
    expect([status, outcome]).toEqual(is_held_out ? ['completed', 'held_out'] : ['running', null]);
    if (is_held_out) {
      const held_out = runs.find((run) => run.player_id === player_id);
      expect((await on.run(journey_id, held_out?.run_id ?? '')).history).toEqual([]);
    }
  }
  await decided('custom_after_share', player_ids[0] ?? '');
  expect((await on.runs(capped)).data).toHaveLength(3);
  // What a transaction did is counted after its commit.
  await until(async (saw) => saw(await entries('limited')) >= 5);
  expect(await entries('limited')).toBe(5);
});

it('an entry whose commit is refused is counted once, when it is committed', async () => {
  const player_id = await events.person();
  const journey_id = await on.journey(nodes, by('custom_refused'));
  const before = await entries('started');
  let refused = 0;
  isRefused = async (tx) => {
    if (refused === 2) return false;
    const written = await tx`select from journey_runs where journey_id = ${journey_id}`;
    if (written.length === 0) return false;
    refused++;
    return true;
  };
  await events.event(player_id, 'custom_refused');
  await begun(journey_id, 1);
  expect(refused).toBe(2);
  await until(async (saw) => saw(await entries('started')) > before);
  expect(await entries('started')).toBe(before + 1);
});

it('a paused journey starts nothing, and an event before the activation neither', async () => {
  const player_id = await events.person();
  const paused = await on.journey(nodes, by('custom_idle'));
  const later = await on.journey(nodes, by('custom_idle'));
  await on.sql`update journeys set status = 'paused' where journey_id = ${paused}`;
  await on.sql`update journeys set activated_at = ${new Date(clock.now_ms() + DAY_MS)} where journey_id = ${later}`;
  await events.event(player_id, 'custom_idle');
  await decided('custom_after_idle', player_id);
  expect((await on.runs(paused)).data).toEqual([]);
  expect((await on.runs(later)).data).toEqual([]);
});
