import { afterAll, beforeAll, expect, it } from 'vitest';
import { complaintsAboutTimers } from '../engage/journeys/interleavings/complaints.ts';
import { runs } from '../engines/effort.ts';
import { StandingRuns } from './journeys-deploy-harness.ts';
import { stopwatch } from './stopwatch.ts';

/** Runs that stand while programs change; a multiple of 100. */
const RUNS = runs(2_000, { nightly: 20_000, nightly_on_servers: 5_000 });
const HELD = RUNS / 5;
const DAY_MS = 86_400_000;

let on: StandingRuns;
beforeAll(async () => {
  on = await StandingRuns.open();
});
afterAll(async () => on?.close());

/** Runs of each kind, of so many that stand. */
const of = (runs: number) => ({
  waiting: runs * 0.45,
  awaiting: runs * 0.2,
  calling: runs * 0.1,
  sending: runs * 0.2,
  asking: runs * 0.05,
});

it(
  'other programs and an edited journey move no run that stands; then each moves once, by its own version',
  async () => {
    const say = stopwatch();
    await on.deploy('present');
    const [journey_id, held_id] = [await on.journey(), await on.journey()];
    await on.stand(journey_id, RUNS - HELD);
    await on.stand(held_id, HELD);
    await on.api('POST', `journeys/${held_id}/pause`, { hold: true });
    say(`${RUNS} runs stand`);
    await on.remember();

    // The journey is edited, and another program takes over: it would decide otherwise about every rest and split.
    await on.edit(journey_id);
    await on.edit(held_id);
    await on.deploy('other-advance');
    await on.begin(journey_id, 2, 40, ['u']);
    await on.none(() => on.sql`select from journey_runs where version = 2 and entered_at is null`);
    await on.none(() => on.sql`select from journey_waits where not is_checked limit 1`);
    expect(await on.moved()).toEqual({});
    expect(await on.paths(journey_id, 2)).toEqual({ 'running w: u elapsed': 40 });
    const [rest] = await on.sql<{ days: number }[]>`
      select extract(epoch from max(due_at - entered_at))::float8 / 86400 as days from journey_runs where version = 2`;
    expect(rest?.days).toBe(3);
    say('edited, and another advance: 0 moved');

    // An event that a run of the first version awaits moves it, and nothing else.
    const [awaiting] = await on.sql<{ run_id: string; player_id: string }[]>`
      select run_id, player_id from journey_runs where journey_id = ${journey_id} and node_id = 'e' limit 1`;
    await on.event(awaiting?.player_id ?? '', 'custom_answer');
    await on.none(
      () =>
        on.sql`select from journey_runs where run_id = ${awaiting?.run_id ?? ''} and status <> 'completed'`,
    );
    expect(await on.moved()).toEqual({ e: 1 });
    await on.remember();

    // A program from before nodes of the type `wait_until`: what it cannot read waits, and says why.
    await on.deploy('older-reader');
    await on.begin(journey_id, 2, 20, ['u']);
    await on.none(
      () => on.sql`
        select from journeys where journey_id = ${journey_id}
          and last_error is distinct from 'version 2 cannot be read: graph.nodes.0.type: must be one of wait, …'`,
    );
    await on.none(
      () => on.sql`
        select from journey_timers t join journey_runs r using (tenant_id, project_id, run_id)
        where r.version = 2 and r.entered_at is null and t.due_at <= now()`,
    );
    expect(await on.moved()).toEqual({});
    expect(await on.paths(journey_id, 2)).toEqual({ 'running w: u elapsed': 40, 'running u:': 20 });
    say('an older program: 0 moved');

    // The due times come under the other program.
    await on.deploy('other-advance', 11 * DAY_MS);
    await on.none(
      () => on.sql`
        select from journey_timers t join journey_runs r using (tenant_id, project_id, run_id)
        where t.due_at <= now() and not (r.node_id = 'b' and r.seq = 1) limit 1`,
    );
    const { waiting, awaiting: waits, calling, sending, asking } = of(RUNS - HELD);
    const paths = await on.paths(journey_id);
    const [x0 = 0, x1 = 0] = ['x0', 'x1'].map(
      (id) => paths[`running ${id}: w elapsed, which branch:${id}`] ?? 0,
    );
    expect(x0 + x1).toBe(waiting);
    expect(paths).toEqual({
      'running x0: w elapsed, which branch:x0': x0,
      'running x1: w elapsed, which branch:x1': x1,
      'completed came: e event, came ended': 1,
      'completed late: e timeout, late ended': waits - 1,
      'completed end: c exhausted, end ended': calling,
      'completed end: m queued, mw elapsed, end ended': sending,
      'running b:': asking,
    });
    expect(await on.paths(journey_id, 2)).toEqual({
      'completed e: u elapsed, w timeout, e ended': 40,
      'running w: u elapsed': 20,
    });
    say('due: each has moved once, by its own version');

    // The held runs stood all the time; they go on where they were, by the program that is there then.
    const held = of(HELD);
    expect(await on.paths(held_id)).toEqual({
      'running w:': held.waiting,
      'running e:': held.awaiting,
      'running c:': held.calling,
      'running mw: m queued': held.sending,
      'running b:': held.asking,
    });
    await on.deploy('present');
    await on.api('POST', `journeys/${held_id}/activate`, { resume: 'run' });
    await on.none(
      () => on.sql`
        select from journey_runs where journey_id = ${held_id} and status = 'running'
          and node_id not in ('b', 'x0', 'x1') limit 1`,
    );
    const resumed = await on.paths(held_id);
    expect(resumed).toMatchObject({
      'completed late: e timeout, late ended': held.awaiting,
      'completed end: c exhausted, end ended': held.calling,
      'completed end: m queued, mw elapsed, end ended': held.sending,
      'running b:': held.asking,
    });
    expect(Object.keys(resumed)).toHaveLength(6);
    const effects = await on.sql<{ sends: number; calls: number; doubled: number }[]>`
      select (select count(*) from message_sends)::integer as sends,
        (select count(*) from webhook_deliveries)::integer as calls,
        (select count(*) - count(distinct (run_id, node_id)) from journey_steps)::integer as doubled`;
    expect([...effects]).toEqual([
      { sends: sending + held.sending, calls: calling + held.calling, doubled: 0 },
    ]);
    expect(await complaintsAboutTimers(on)).toEqual([]);
    say('held runs went on');
  },
  120_000 + RUNS * 20,
);
