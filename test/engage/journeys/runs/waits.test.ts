import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../../src/analytics/caught-up.ts';
import { LogUnavailable, type EventLog } from '../../../../src/platform/event-log/port.ts';
import { GROUPS, TOPICS } from '../../../../src/platform/event-log/topics.ts';
import type { Postgres, Tx } from '../../../../src/platform/postgres/port.ts';
import { type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { storeSends } from '../../campaigns/campaign-fixture.ts';
import { triggerFixture, type TriggerFixture } from '../../triggers/trigger-fixture.ts';
import { end, runFixture, startMovedService, wait, type MovedClock, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let clock: MovedClock;
let on: RunFixture;
let events: TriggerFixture;
/** Whether the log does not say where it ends. */
let is_log_away = false;
beforeAll(async () => {
  ({ service, clock } = await startMovedService(({ eventLog, postgres }) => ({
    postgres: pausingBeforeCommits(postgres),
    eventLog: Object.create(eventLog, {
      endOffsets: {
        value: (topic: string) =>
          is_log_away ? Promise.reject(new LogUnavailable('away')) : eventLog.endOffsets(topic),
      },
    }) as EventLog,
  })));
  on = runFixture(service);
  events = triggerFixture(service);
});
afterAll(async () => service?.close());

/** What happens at the end of a transaction of the service, before it commits. */
let beforeCommit: (tx: Tx) => Promise<unknown> = () => Promise.resolve();

function pausingBeforeCommits(postgres: Postgres): Postgres {
  const pausing =
    <T>(work: (tx: Tx) => Promise<T>) =>
    async (tx: Tx) => {
      const result = await work(tx);
      await beforeCommit(tx);
      return result;
    };
  const begin = <T>(work: (tx: Tx) => Promise<T>) => postgres.service.begin(pausing(work));
  const service = new Proxy(postgres.service, {
    get: (target, name, receiver) =>
      name === 'begin' ? begin : (Reflect.get(target, name, receiver) as unknown),
  });
  const asTenant = <T>(tenant_id: string, work: (tx: Tx) => Promise<T>) =>
    postgres.asTenant(tenant_id, pausing(work));
  return Object.create(postgres, { service: { value: service }, asTenant: { value: asTenant } }) as Postgres;
}

const awaiting = (event: string, where?: object) => ({
  id: 'e',
  type: 'wait_for_event',
  event,
  ...(where === undefined ? {} : { where }),
  timeout_ms: 3 * DAY_MS,
  next: 'came',
  timeout_next: 'late',
});

it('a run goes on with the first event that satisfies the filter, and keeps its properties', async () => {
  const [player_id, other] = await Promise.all([events.person(), events.person()]);
  const journey_id = await on.journey([
    awaiting('custom_answer', { score: { gte: 3 } }),
    end('came'),
    end('late'),
  ]);
  const run_id = await on.start(journey_id, player_id);
  const idle = await on.start(journey_id, other);
  await Promise.all([run_id, idle].map((id) => on.reached(journey_id, id, 'e')));
  await events.event(player_id, 'custom_answer', { score: 1 });
  await events.event(player_id, 'custom_answer', { score: 4, n: 1 });
  await events.event(player_id, 'custom_answer', { score: 5, n: 2 });
  const run = await on.reached(journey_id, run_id, 'completed');
  expect(run).toMatchObject({ current_node_id: 'came', context: { events: { e: { score: 4, n: 1 } } } });
  expect(run.history.map(({ node_id, outcome }) => [node_id, outcome])).toEqual([
    ['e', 'event'],
    ['came', 'ended'],
  ]);
  const waiting = await on.sql`select from journey_waits where run_id in ${on.sql([run_id])}`;
  expect(waiting).toHaveLength(0);
  // The timer of its time-out falls away.
  clock.pass(3 * DAY_MS);
  const late = await on.reached(journey_id, idle, 'completed');
  expect(late).toMatchObject({
    current_node_id: 'late',
    history: [{ outcome: 'timeout' }, { outcome: 'ended' }],
  });
  expect((await on.run(journey_id, run_id)).history).toHaveLength(2);
});

it('events in quick succession end the waits for them one after the other', async () => {
  const player_id = await events.person();
  const awaits = (id: string, event: string, next: string) => ({ ...awaiting(event), id, next });
  const journey_id = await on.journey([
    awaits('first', 'custom_viewed', 'second'),
    awaits('second', 'custom_paid', 'again'),
    awaits('again', 'custom_paid', 'came'),
    end('came'),
    end('late'),
  ]);
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'first');
  await events.events(player_id, ['custom_viewed'], ['custom_paid', { n: 1 }]);
  // One event ends one wait.
  expect(await on.reached(journey_id, run_id, 'again')).toMatchObject({
    context: { events: { second: { n: 1 } } },
  });
  await events.event(player_id, 'custom_paid', { n: 2 });
  expect(await on.reached(journey_id, run_id, 'completed')).toMatchObject({
    current_node_id: 'came',
    context: { events: { second: { n: 1 }, again: { n: 2 } } },
  });
});

it('an event ends the runs that are to exit by it or have reached their goal, wherever they stand', async () => {
  const player_id = await events.person();
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const exits = await on.journey(
    nodes,
    { kind: 'api' },
    { exit_on: [{ event: 'custom_leave', where: { sure: true } }] },
  );
  const goals = await on.journey(
    nodes,
    { kind: 'api' },
    { goal: { event: 'custom_goal', window_days: 7, exit: true } },
  );
  const [exiting, reaching] = await Promise.all([on.start(exits, player_id), on.start(goals, player_id)]);
  await Promise.all([on.reached(exits, exiting, 'w'), on.reached(goals, reaching, 'w')]);
  await events.event(player_id, 'custom_leave', { sure: false });
  await events.event(player_id, 'custom_goal');
  expect(await on.reached(goals, reaching, 'completed')).toMatchObject({
    outcome: 'goal',
    current_node_id: 'w',
  });
  expect(await on.run(exits, exiting)).toMatchObject({ status: 'running' });
  await events.event(player_id, 'custom_leave', { sure: true });
  const run = await on.reached(exits, exiting, 'completed');
  expect(run).toMatchObject({ outcome: 'exited', current_node_id: 'w' });
  expect(run.history).toMatchObject([{ node_id: 'w', status: 'skipped', outcome: 'exited' }]);
});

it('what a player does right after the event that starts a run counts for the run, however late it begins', async () => {
  const [waiting, leaving, reaching] = await Promise.all([events.person(), events.person(), events.person()]);
  const begun = (name: string) => ({ kind: 'event', event: name });
  const waits = await on.journey(
    [awaiting('custom_answered'), end('came'), end('late')],
    begun('custom_asked'),
  );
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const exits = await on.journey(nodes, begun('custom_entered'), { exit_on: [{ event: 'custom_left' }] });
  const goal = { event: 'custom_paid', window_days: 7, exit: true };
  const goals = await on.journey(nodes, begun('custom_paid'), { goal });
  await Promise.all([
    events.events(waiting, ['custom_answered'], ['custom_asked'], ['custom_answered', { n: 2 }]),
    events.events(leaving, ['custom_left'], ['custom_entered'], ['custom_left']),
    events.events(reaching, ['custom_paid']),
  ]);
  const runOf = async (journey_id: string) => {
    const [run] = await until('a run', async (saw) => {
      const { data } = saw(await on.runs(journey_id));
      return data.length > 0 ? data : undefined;
    });
    return run?.run_id ?? '';
  };
  const [first, second, third] = await Promise.all([waits, exits, goals].map(runOf));
  expect(await on.reached(waits, first ?? '', 'completed')).toMatchObject({
    current_node_id: 'came',
    context: { events: { e: { n: 2 } } },
  });
  expect(await on.reached(exits, second ?? '', 'completed')).toMatchObject({ outcome: 'exited' });
  // The event that starts a run does not end it.
  await on.reached(goals, third ?? '', 'w');
  await events.events(reaching, ['custom_paid']);
  expect(await on.reached(goals, third ?? '', 'completed')).toMatchObject({ outcome: 'goal' });
  await until(async (saw) => saw((await on.sql`select from journey_waits where event = ''`).length) === 0);
});

/**
 * Lets something happen while the player's first run is about to begin: after what begins it was read, before it is
 * visible. The transaction that has written the run pauses; it waits for no lock, so however long it takes, it goes on.
 */
async function beforeVisible<T>(
  player_id: string,
  begin: () => Promise<T>,
  act: () => Promise<unknown>,
): Promise<T> {
  let acted: Promise<unknown> | undefined;
  beforeCommit = async (tx) => {
    // Nobody else sees the run before the transaction commits.
    const runs = await tx`select from journey_runs where player_id = ${player_id}`;
    if (runs.length > 0) await (acted ??= act());
  };
  try {
    const begun = await begin();
    await until((saw) => saw(acted) !== undefined);
    await acted;
    return begun;
  } finally {
    beforeCommit = () => Promise.resolve();
  }
}

const read = (topic: string, group: string) =>
  until(async (saw) =>
    saw(await service.platform.eventLog.lag(topic, group)).every(
      ({ next_offset, end_offset }) => next_offset >= end_offset,
    ),
  );

it('an event that is looked up before the run is visible that a caller starts ends it, or its wait', async () => {
  const [leaving, answering] = await Promise.all([events.person(), events.person()]);
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const exits = await on.journey(nodes, { kind: 'api' }, { exit_on: [{ event: 'custom_gone' }] });
  const waits = await on.journey([awaiting('custom_said'), end('came'), end('late')]);
  const before = (journey_id: string, player_id: string, event: string) =>
    beforeVisible(
      player_id,
      () => on.start(journey_id, player_id),
      async () => {
        const ends = await service.platform.eventLog.endOffsets(TOPICS.playerEvents);
        await events.event(player_id, event);
        await until(async (saw) =>
          [...saw(await service.platform.eventLog.endOffsets(TOPICS.playerEvents))].some(
            ([partition, to]) => to > (ends.get(partition) ?? 0n),
          ),
        );
        await read(TOPICS.playerEvents, GROUPS.journeyMatcher);
      },
    );
  const exited = await before(exits, leaving, 'custom_gone');
  expect(await on.reached(exits, exited, 'completed')).toMatchObject({ outcome: 'exited' });
  const answered = await before(waits, answering, 'custom_said');
  expect(await on.reached(waits, answered, 'completed')).toMatchObject({ current_node_id: 'came' });
  await until(async (saw) => saw((await on.sql`select from journey_waits where seq = 0`).length) === 0);
});

it('a member who leaves the segment before the run is visible leaves the journey', async () => {
  const [player_id, other] = await Promise.all([events.person(), events.person()]);
  const segment_id = await on.client.segment([player_id, other]);
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const settings = { exit_on: [{ segment_exited: segment_id }] };
  const journey_id = await beforeVisible(
    player_id,
    async () => {
      const trigger = { kind: 'segment_entered', segment_id, existing_members: true };
      const created = await on.journey(nodes, trigger, settings);
      clock.pass(6_000);
      return created;
    },
    // The change itself was handled when there was no run yet.
    () => on.sql`delete from segment_members where segment_id = ${segment_id} and player_id = ${player_id}`,
  );
  const runOf = async (of: string) => (await on.runs(journey_id)).data.find((run) => run.player_id === of);
  await until(async (saw) => saw((await runOf(player_id))?.status) === 'completed');
  expect(await runOf(player_id)).toMatchObject({ outcome: 'exited' });
  await until(async (saw) => saw((await on.sql`select from journey_waits where seq = 0`).length) === 0);
  expect(await runOf(other)).toMatchObject({ status: 'running' });
});

it('while the log is away only what waits for events waits', async () => {
  const player_id = await events.person();
  const awaits = await on.journey([
    wait('w', DAY_MS, 'e'),
    awaiting('custom_back'),
    end('came'),
    end('late'),
  ]);
  const goes_on = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  const [first, second] = [await on.start(awaits, player_id), await on.start(goes_on, player_id)];
  await Promise.all([on.reached(awaits, first, 'w'), on.reached(goes_on, second, 'w')]);
  is_log_away = true;
  try {
    clock.pass(DAY_MS);
    await on.reached(goes_on, second, 'completed');
    await until(
      async (saw) =>
        saw(
          (
            await on.sql`select from journey_timers where run_id = ${first} and due_at > ${new Date(clock.now_ms())}`
          ).length,
        ) > 0,
    );
    expect(await on.run(awaits, first)).toMatchObject({ status: 'running', current_node_id: 'w' });
    const refused = await on.trigger(awaits, player_id);
    expect(refused).toMatchObject({ status: 503, error: { code: 'INGESTION_UNAVAILABLE' } });
  } finally {
    is_log_away = false;
  }
  await on.reached(awaits, first, 'e');
  await events.event(player_id, 'custom_back');
  expect(await on.reached(awaits, first, 'completed')).toMatchObject({ current_node_id: 'came' });
});

it('one event ends thousands of runs of a player', async () => {
  const player_id = await events.person();
  const journey_id = await on.journey(
    [wait('w', DAY_MS, 'end'), end()],
    { kind: 'api' },
    { exit_on: [{ event: 'custom_all' }] },
  );
  await on.begin(journey_id, Array<string>(6_001).fill(player_id), 'w');
  await events.event(player_id, 'custom_all');
  const running = async () =>
    (await on.sql`select from journey_runs where journey_id = ${journey_id} and status = 'running' limit 1`)
      .length;
  await until(async (saw) => saw(await running()) === 0);
});

it('a wait moves to the survivor of a merge', async () => {
  const gone = await events.person({ anonymous_id: 'waiting visitor' });
  const journey_id = await on.journey([awaiting('custom_merged'), end('came'), end('late')]);
  const run_id = await on.start(journey_id, gone);
  await on.reached(journey_id, run_id, 'e');
  const kept = await events.person({ external_id: 'waiting', anonymous_id: 'waiting visitor' });
  await events.event(kept, 'custom_merged');
  expect(await on.reached(journey_id, run_id, 'completed')).toMatchObject({ current_node_id: 'came' });
});

it('a player who enters a segment begins a run, one who leaves it another', async () => {
  const segment_id = await events.segment({
    operator: 'AND',
    conditions: [{ type: 'trait', field: 'custom_attributes.vip', op: 'eq', value: true }],
  });
  const nodes = [wait('w', DAY_MS, 'end'), end()];
  const entered = await on.journey(nodes, { kind: 'segment_entered', segment_id });
  const left = await on.journey(nodes, { kind: 'segment_exited', segment_id });
  const leaves = await on.journey(
    nodes,
    { kind: 'segment_entered', segment_id },
    { exit_on: [{ segment_exited: segment_id }] },
  );
  const player_id = await events.person();
  const set = (vip: boolean) =>
    on.client.api('PATCH', `/v1/players/${player_id}`, { custom_attributes: { vip } });
  await set(true);
  const [run] = await until('a run', async (saw) => {
    const { data } = saw(await on.runs(entered));
    return data.length > 0 ? data : undefined;
  });
  expect(run).toMatchObject({
    player_id,
    trigger: { kind: 'segment_entered' },
    context: { trigger_payload: {} },
  });
  expect((await on.runs(left)).data).toEqual([]);
  await set(false);
  await until(async (saw) => saw((await on.runs(left)).data.length) === 1);
  expect((await on.runs(entered)).data).toMatchObject([{ status: 'running' }]);
  await until(async (saw) => saw((await on.runs(leaves)).data[0]?.status) === 'completed');
  expect((await on.runs(leaves)).data).toMatchObject([{ outcome: 'exited' }]);
});

it('a later report about an old message ends no wait: each of its stages is one event', async () => {
  const player_id = await events.person();
  const { tenant_id, project_id } = service;
  const at = () => new Date(clock.now_ms());
  const store = (dedup_key: string) =>
    storeSends(service.platform, { tenant_id, project_id }, [
      { player_id, dedup_key, status: 'opened', sent_at: at(), opened_at: at() },
    ]);
  const [old = ''] = await store('old');
  await waitUntilCaughtUp(service.platform, 60_000);
  const journey_id = await on.journey([
    { ...awaiting('email_opened'), next: 'end', timeout_next: 'end' },
    end(),
  ]);
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'e');
  await on.sql`
    update message_sends set status = 'clicked', clicked_at = ${at()}, changed_xid = pg_current_xact_id()
    where send_id = ${old}`;
  await waitUntilCaughtUp(service.platform, 60_000);
  const [fresh = ''] = await store('fresh');
  const { context } = await on.reached(journey_id, run_id, 'completed');
  expect(context).toMatchObject({ events: { e: { send_id: fresh } } });
});
