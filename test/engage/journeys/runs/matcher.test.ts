import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertRests } from '../../../../src/engage/journeys/runs/match-rest-queries.ts';
import { JourneyRunner } from '../../../../src/engage/journeys/runs/runner.ts';
import { Matcher } from '../../../../src/engage/journeys/runs/matcher.ts';
import { RatedEvents } from '../../../../src/engage/journeys/runs/rated-events.ts';
import { folded, startTestService, type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { keepUnrated } from '../../../../src/engage/triggers/unrated.ts';
import { TriggerDecider } from '../../../../src/engage/triggers/decider.ts';
import { recordTriggerEvents } from '../../../../src/engage/triggers/record.ts';
import { journeyTriggers } from '../../../../src/engage/journeys/runs/event-entry.ts';
import { deleteUnrated, rateEvents, selectRated } from '../../../../src/engage/triggers/unrated-queries.ts';
import { encodePlayerEvent, type PlayerEvent } from '../../../../src/ingest/events/envelope.ts';
import { NIL_ID } from '../../../../src/platform/ids.ts';
import { triggerFixture } from '../../triggers/trigger-fixture.ts';
import { end, runFixture, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let on: RunFixture;
beforeAll(async () => {
  // Without the role journey-runner: each test has a matcher of its own.
  service = await startTestService({ roles: new Set(['api', 'intake', 'player-fold', 'player-mirror']) });
  on = runFixture(service);
});
afterAll(async () => service?.close());

const AWAITING = {
  id: 'e',
  type: 'wait_for_event',
  event: 'custom_race',
  timeout_ms: DAY_MS,
  next: 'came',
  timeout_next: 'late',
};

const erasure_key = Buffer.alloc(32);

it('an event that is looked up before its run waits visibly is not lost', async () => {
  const tell = triggerFixture(service);
  const { platform } = service;
  const player_id = await tell.person();
  const journey_id = await on.journey([AWAITING, end('came'), end('late')]);
  const matcher = new Matcher(platform);
  // The event comes, and is looked up, after the runner has noted the end of the log and before its transaction.
  const matchAll = async () => {
    for await (const batch of platform.eventLog.read('player-events', 0, 0n, 1n << 62n))
      await matcher.handle(batch);
  };
  const eventLog = new Proxy(platform.eventLog, {
    get(target, name) {
      if (name !== 'endOffsets') return (target[name as keyof typeof target] as () => unknown).bind(target);
      return async (topic: string) => {
        const ends = await target.endOffsets(topic);
        await tell.event(player_id, 'custom_race', { n: 1 });
        await folded(platform);
        await until(async (saw) =>
          [...saw(await target.endOffsets(topic))].some(([, at]) => at > (ends.get(0) ?? 0n)),
        );
        await matchAll();
        return ends;
      };
    },
  });
  const runner = new JourneyRunner({ ...platform, erasure_key, eventLog });
  const [run_id = ''] = await on.begin(journey_id, [player_id], 'e');
  await runner.turn();
  expect(await on.run(journey_id, run_id)).toMatchObject({ status: 'running', current_node_id: 'e' });
  expect(await on.sql`select from journey_waits where run_id = ${run_id} and not is_checked`).toHaveLength(1);
  await matcher.check();
  await runner.turn();
  expect(await on.run(journey_id, run_id)).toMatchObject({
    status: 'completed',
    current_node_id: 'came',
    context: { events: { e: { n: 1 } } },
  });
  expect(await matcher.check()).toBe(false);
});

it('an event that comes a second time wakes and ends no run that began after the first time', async () => {
  const tell = triggerFixture(service);
  const { eventLog } = service.platform;
  const topic = 'player-events';
  const player_id = await tell.person();
  const settings = { exit_on: [{ event: 'custom_done' }] };
  const journey_id = await on.journey([AWAITING, end('came'), end('late')], undefined, settings);
  const matcher = new Matcher(service.platform);
  const endOf = async () => (await eventLog.endOffsets(topic)).get(0) ?? 0n;
  const recordsFrom = async (from: bigint) => {
    const found: { key: string; value: string }[] = [];
    for await (const { records } of eventLog.read(topic, 0, from, 1n << 62n)) found.push(...records);
    return found.map(({ key, value }) => ({ key, value }));
  };
  /** Does what appends, and lets the matcher handle it. */
  const after = async (append: () => Promise<unknown>, count: number) => {
    const from = await endOf();
    await append();
    await until(async (saw) => saw(await endOf()) >= from + BigInt(count));
    for await (const batch of eventLog.read(topic, 0, from, 1n << 62n)) await matcher.handle(batch);
    while (await matcher.check());
    return recordsFrom(from);
  };
  const tellBoth = async () => {
    await tell.event(player_id, 'custom_race', { n: 1 });
    await tell.event(player_id, 'custom_done');
  };
  const first = await after(tellBoth, 2);
  const [run_id = ''] = await on.begin(journey_id, [player_id], 'e');
  const runner = new JourneyRunner({ ...service.platform, erasure_key });
  await until(async () => {
    await runner.turn();
    return (await on.sql`select from journey_waits where run_id = ${run_id} and seq > 0`).length === 1;
  });
  await runner.close();
  // As a run that an event has started: offsets decide what comes after its beginning.
  await on.sql`
    update journey_runs set partition = 0, log_id = ${await eventLog.idOf(topic)}, from_offset = ${String(await endOf())}
    where run_id = ${run_id}`;
  const row = async () => {
    const [found] =
      await on.sql`select status, woken_by is not null as is_woken from journey_runs where run_id = ${run_id}`;
    return found;
  };
  // A process died after it had appended them, before it noted that.
  await after(() => eventLog.append(topic, first), 2);
  expect(await row()).toEqual({ status: 'running', is_woken: false });
  // While the run did not wait visibly yet, what it looks at then has both.
  await on.sql`update journey_waits set is_checked = false where run_id = ${run_id}`;
  while (await matcher.check());
  expect(await row()).toEqual({ status: 'running', is_woken: false });
  // An event that is late, but comes for the first time, counts; so does the same again.
  const late = first.map(({ key, value }) => ({
    key,
    value: value.replace(/"event_index":0/, '"event_index":7'),
  }));
  await after(
    () =>
      eventLog.append(
        topic,
        [late[0], late[0]].filter((one) => one !== undefined),
      ),
    2,
  );
  expect(await row()).toEqual({ status: 'running', is_woken: true });
  await after(() => eventLog.append(topic, late.slice(1)), 1);
  expect(await row()).toMatchObject({ status: 'completed' });
});

it('an event wakes or ends a page of a player’s runs before the next event, and the others after it', async () => {
  const tell = triggerFixture(service);
  const { platform } = service;
  const player_id = await tell.person();
  const settings = { exit_on: [{ event: 'custom_done' }] };
  const journey_id = await on.journey([AWAITING, end('came'), end('late')], undefined, settings);
  const run_ids = await on.begin(journey_id, [player_id, player_id, player_id], 'e');
  const runner = new JourneyRunner({ ...platform, erasure_key });
  while ((await on.sql`select from journey_waits where run_id in ${on.sql(run_ids)}`).length < 3)
    await runner.turn();
  await runner.close();
  let told = 0;
  const matcher = new Matcher(platform, 1);
  matcher.onRest = () => (told += 1);
  while (await matcher.check());
  const countOf = async () => {
    const rows = await on.sql<{ woken_by: unknown; status: string }[]>`
      select woken_by, status from journey_runs where run_id in ${on.sql(run_ids)}`;
    const woken = rows.filter(({ woken_by }) => woken_by !== null).length;
    return [woken, rows.filter(({ status }) => status !== 'running').length];
  };
  const handle = async (event: string) => {
    const from = [...(await platform.eventLog.endOffsets('player-events')).values()][0] ?? 0n;
    await tell.event(player_id, event);
    await folded(platform);
    await until('the event is on the log', async (saw) =>
      [...saw(await platform.eventLog.endOffsets('player-events')).values()].some((end) => end > from),
    );
    for await (const batch of platform.eventLog.read('player-events', 0, from, 1n << 62n))
      await matcher.handle(batch);
  };
  await handle('custom_race');
  expect([told, ...(await countOf())]).toEqual([1, 1, 0]);
  while (await matcher.finish());
  expect(await countOf()).toEqual([3, 0]);
  await handle('custom_done');
  expect((await countOf())[1]).toBe(1);
  while (await matcher.finish());
  expect((await countOf())[1]).toBe(3);
  expect(await on.sql`select from journey_match_rests`).toEqual([]);
});

it('an event whose rate comes late wakes the runs behind its first page, and then comes to rest', async () => {
  const tell = triggerFixture(service);
  const { platform } = service;
  const player_id = await tell.person();
  const waiting = (gte: number) => ({ ...AWAITING, event: 'deposit_confirmed', where: { amount: { gte } } });
  const [great, small] = [
    await on.journey([waiting(1_000_000), end('came'), end('late')]),
    await on.journey([waiting(100), end('came'), end('late')]),
  ];
  const begin = async (journey_id: string) => (await on.begin(journey_id, [player_id], 'e'))[0] ?? '';
  const of_great = [await begin(great), await begin(great)];
  const of_small = [await begin(small), await begin(small)];
  const run_ids = [...of_great, ...of_small];
  const runner = new JourneyRunner({ ...platform, erasure_key });
  while ((await on.sql`select from journey_waits where run_id in ${on.sql(run_ids)}`).length < run_ids.length)
    await runner.turn();
  await runner.close();
  const matcher = new Matcher(platform, 1);
  while (await matcher.check());
  const from = [...(await platform.eventLog.endOffsets('player-events')).values()][0] ?? 0n;
  const paid = { amount: 60_000, currency: 'KRW', transaction_id: 'late-rate', payment_method: 'card' };
  await tell.event(player_id, 'deposit_confirmed', paid);
  await folded(platform);
  await until('the event is on the log', async (saw) =>
    [...saw(await platform.eventLog.endOffsets('player-events')).values()].some((end) => end > from),
  );
  for await (const batch of platform.eventLog.read('player-events', 0, from, 1n << 62n))
    await matcher.handle(batch);
  // A page without the rate; the rest of the event stands behind it while the rate comes.
  await matcher.finish();
  await on.sql`update ledger set base_amount = 4000, rate = 0.000667 where reference = 'late-rate'`;
  await on.sql`update unrated_events set is_rated = true, base_amount = 4000`;
  const rated = new RatedEvents(platform, matcher);
  for (let round = 0; round < 10; round += 1) {
    await rated.turn();
    for (let page = 0; page < 10 && (await matcher.finish()); page += 1);
  }
  const woken = await on.sql<{ run_id: string }[]>`
    select run_id from journey_runs where run_id in ${on.sql(run_ids)} and woken_by is not null`;
  expect(woken.map(({ run_id }) => run_id).toSorted()).toEqual(of_small.toSorted());
  expect(await on.sql`select from unrated_events`).toEqual([]);
  expect(await on.sql`select from journey_match_rests`).toEqual([]);
});

/** A journey that deposits start, and one of them on the log, recorded before the journey compares its amount. */
async function recordedBeforeFilter(gte: number) {
  const { platform } = service;
  const player_id = await triggerFixture(service).person();
  const trigger = { kind: 'event', event: 'deposit_confirmed' };
  const journey_id = await on.journey([end()], trigger);
  const kinds = [journeyTriggers(platform)];
  const decider = new TriggerDecider(platform, kinds);
  const paid = { amount: 60_000, currency: 'KRW', transaction_id: randomUUID(), payment_method: 'card' };
  const from = [...(await platform.eventLog.endOffsets('player-events')).values()][0] ?? 0n;
  await triggerFixture(service).event(player_id, 'deposit_confirmed', paid);
  await folded(platform);
  await until('the event is on the log', async (saw) =>
    [...saw(await platform.eventLog.endOffsets('player-events')).values()].some((last) => last > from),
  );
  let recorded = 0;
  for await (const { records } of platform.eventLog.read('player-events', 0, from, 1n << 62n))
    recorded += await recordTriggerEvents(platform, kinds, { partition: 0, records });
  expect(recorded).toBe(1);
  const changed = await on.client.api('PATCH', `/v1/journeys/${journey_id}`, {
    trigger: { ...trigger, where: { amount: { gte } } },
  });
  expect(changed.status, JSON.stringify(changed.error)).toBe(200);
  /** Until everything that may be decided now is. */
  const decide = async () => {
    await until('nothing is due', async (saw) => {
      await decider.turn(new AbortController().signal);
      const due = await on.sql`
        select from trigger_events
        where listener_id = ${journey_id} and decided_at is null and (claimed_until is null or last_error is null)`;
      return saw(due).length === 0;
    });
    await decider.close();
  };
  const rated = new RatedEvents(platform, new Matcher(platform));
  return {
    journey_id,
    rated,
    decide,
    /** As event-rewriter does when the rate comes. */
    async rate() {
      const { transaction_id } = paid;
      await on.sql`update ledger set base_amount = 4000, rate = 0.0667 where reference = ${transaction_id}`;
      await on.sql`update unrated_events set is_rated = true, base_amount = 4000 where value like ${`%${transaction_id}%`}`;
    },
    recorded: () => on.sql`select outcome, last_error from trigger_events where listener_id = ${journey_id}`,
    held: () => on.sql`select is_rated from unrated_events where value like ${`%${paid.transaction_id}%`}`,
    runs: () => on.sql`select version from journey_runs where journey_id = ${journey_id}`,
  };
}

const WAITING = { outcome: null, last_error: expect.stringContaining('FX_RATE_NOT_FOUND') as string };

it.each([
  [4_000, [{ version: 2 }], 'fired'],
  [4_001, [], 'refused'],
])(
  'an event recorded before its journey compares amounts waits for its rate: of %i',
  async (gte, runs, outcome) => {
    const one = await recordedBeforeFilter(gte);
    await one.decide();
    expect([await one.recorded(), await one.held(), await one.runs()]).toEqual([
      [WAITING],
      [{ is_rated: false }],
      [],
    ]);
    await one.rate();
    await one.rated.turn();
    await one.decide();
    expect([await one.recorded(), await one.held(), await one.runs()]).toEqual([
      [{ outcome, last_error: null }],
      [],
      runs,
    ]);
  },
);

it('an event whose rate came before it is decided anew is decided by its rate', async () => {
  const one = await recordedBeforeFilter(4_000);
  await one.rate();
  await one.decide();
  expect([await one.recorded(), await one.held()]).toEqual([[WAITING], [{ is_rated: true }]]);
  await one.rated.turn();
  await one.decide();
  expect([await one.recorded(), await one.held(), await one.runs()]).toEqual([
    [{ outcome: 'fired', last_error: null }],
    [],
    [{ version: 2 }],
  ]);
});

it('an event whose rate does not come within a day is given up with the reason, and one of no known log waits, too', async () => {
  const one = await recordedBeforeFilter(4_000);
  await on.sql`update trigger_events set log_id = null, log_offset = -1 where listener_id = ${one.journey_id}`;
  await one.decide();
  expect([await one.recorded(), await one.held()]).toEqual([[WAITING], [{ is_rated: false }]]);
  await on.sql`
    update trigger_events set recorded_at = recorded_at - interval '1 day' where listener_id = ${one.journey_id}`;
  const later = new TriggerDecider(service.platform, [journeyTriggers(service.platform)]);
  await later.turn(new AbortController().signal);
  await later.close();
  expect(await one.recorded()).toEqual([{ ...WAITING, outcome: 'failed' }]);
  // The rate comes after that.
  await one.rate();
  await one.rated.turn();
  expect([await one.recorded(), await one.held(), await one.runs()]).toEqual([
    [{ ...WAITING, outcome: 'failed' }],
    [],
    [],
  ]);
});

it('an event that is kept again while it is looked at is looked at again', async () => {
  const { tenant_id, project_id, platform } = service;
  const sql = platform.postgres.service;
  const event: PlayerEvent = {
    tenant_id,
    project_id,
    event: 'bet_lost',
    player_id: NIL_ID,
    occurred_at: Date.now(),
    received_at: Date.now(),
    ingestion_id: randomUUID(),
    event_index: 0,
    base_amount: null,
    base_payout: 0n,
    properties: { bet_id: 'kept again', amount: 5, currency: 'KRW' },
  };
  const record = { offset: 7n, value: encodePlayerEvent(event) };
  const place = { log_id: 'a log', partition: 0 };
  const now = new Date();
  const keep = () =>
    keepUnrated(
      sql,
      place,
      [
        { record, event },
        { record, event },
      ],
      now,
    );
  const nothing = { tenant_id: NIL_ID, project_id: NIL_ID };
  const look = () => selectRated(sql, nothing, { projects: 10, limit: 10 });
  await keep();
  await sql`update unrated_events set is_rated = true, base_amount = 1 where project_id = ${project_id}`;
  const first = await look();
  expect(first).toMatchObject([{ ...place, log_offset: 7n, base_amount: 1n }]);
  await keep();
  await deleteUnrated(sql, first);
  const second = await look();
  expect(second).toHaveLength(1);
  await deleteUnrated(sql, second);
  expect(await look()).toEqual([]);
});

it('an event whose stake has no rate is not rated by its payout of 0, nor by a rate that went', async () => {
  const { tenant_id, project_id, platform } = service;
  const sql = platform.postgres.service;
  const ref = { tenant_id, project_id, ingestion_id: randomUUID(), event_index: 0 };
  const event: PlayerEvent = {
    ...ref,
    event: 'bet_settled',
    player_id: NIL_ID,
    occurred_at: Date.now(),
    received_at: Date.now(),
    base_amount: null,
    base_payout: 0n,
    properties: {
      bet_id: 'no payout',
      amount: 60_000,
      payout: 0,
      currency: 'KRW',
      game_id: 'g',
      outcome: 'lost',
    },
  };
  const record = { offset: 7n, value: encodePlayerEvent(event) };
  await keepUnrated(sql, { log_id: 'a log', partition: 0 }, [{ record, event }], new Date());
  const nothing = { tenant_id: NIL_ID, project_id: NIL_ID };
  const restate = async (base_amount: bigint | null, is_rated: boolean) => {
    await rateEvents(sql, [{ ...ref, base_amount, base_payout: 0n, is_rated }]);
    return selectRated(sql, nothing, { projects: 10, limit: 10 });
  };
  expect(await restate(null, false)).toEqual([]);
  expect(await restate(4_000n, true)).toMatchObject([{ base_amount: 4_000n, base_payout: 0n }]);
  // The rate was removed before the event was looked at: it waits for the next one.
  expect(await restate(null, false)).toEqual([]);
  await deleteUnrated(sql, await restate(4_100n, true));
  expect(await sql`select from unrated_events where project_id = ${project_id}`).toEqual([]);
});

it('events whose further runs cannot be looked at wait for a pause, and no longer than they count', async () => {
  const { tenant_id, project_id, platform } = service;
  const log_id = await platform.eventLog.idOf('player-events');
  const eventLog = new Proxy(platform.eventLog, {
    get(target, name) {
      if (name === 'read')
        return () => {
          throw new Error('the log is away');
        };
      return (target[name as keyof typeof target] as () => unknown).bind(target);
    },
  });
  let now_ms = Date.now();
  const matcher = new Matcher(
    { ...platform, eventLog, clock: { ...platform.clock, now_ms: () => now_ms } },
    1,
  );
  const place = { tenant_id, project_id, log_id, partition: 0, log_offset: 0n };
  const sql = platform.postgres.service;
  await insertRests(sql, [{ ...place, ends: false, after_run_id: NIL_ID }], new Date(now_ms));
  expect(await matcher.finish()).toBe(false);
  expect(await on.sql`select from journey_match_rests`).toHaveLength(1);
  now_ms += DAY_MS + 1;
  expect(await matcher.finish()).toBe(false);
  expect(await on.sql`select from journey_match_rests`).toEqual([]);
});
