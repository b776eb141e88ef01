import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluateOnce } from '../../processors/segment-refresh/index.ts';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { mayWriteRevisions } from '../../src/analytics/epoch.ts';
import { ROLES } from '../../src/config.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { isKnown } from '../../src/segments/evaluated/changes.ts';
import {
  beginEvaluation,
  forgetEvaluated,
  selectEvaluated,
  updateEvaluated,
} from '../../src/segments/evaluated/evaluated-queries.ts';
import { planFor } from '../../src/segments/evaluated/plans.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { runRefreshJob } from '../../src/segments/refresh-job.ts';
import { compileMembers } from '../../src/segments/sql/compile.ts';
import { sweepWindows } from '../../src/segments/sweep.ts';
import { runs } from '../engines/effort.ts';
import { call } from '../engines/http-client.ts';
import { statementWaits } from '../engines/lock-wait.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { stopAt } from './stopped-platform.ts';

// Realtime segments of players whose data change in every way and order, against the definitions as ClickHouse has them.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The clock of the whole service: that of the machine, and ahead of it by what has passed in the test. */
let ahead_ms = 0;
/** While it is set, the clock stands still. */
let still_ms: number | undefined;
const clock = { now_ms: () => still_ms ?? Date.now() + ahead_ms };
let service: TestService;
beforeAll(async () => {
  const driven = ['segment-refresh', 'scheduler'];
  const roles = new Set(ROLES.filter((role) => !driven.includes(role)));
  service = await startTestService({ roles }, async (config) => ({
    ...(await openTestPlatform(config)),
    clock,
  }));
  await until('the epoch has begun', async (saw) => saw(await mayWriteRevisions(service.platform)));
});
afterAll(async () => service?.close());

const last = (hours: number) => ({ window: { last: { hours } } });
const count = (event: string, op: string, value: number, more = {}) => {
  return { type: 'event', event, aggregate: 'count', op, value, ...more };
};
const big = { where: [{ property: 'amount', op: 'gte', value: 500 }] };
const red = { where: [{ property: 'colour', op: 'neq', value: 'red' }] };
const deposited = { type: 'event', event: 'deposit_confirmed', aggregate: 'sum', property: 'amount' };
const trait = (field: string, op: string, value: unknown) => ({ type: 'trait', field, op, value });

const SEGMENTS = [
  [count('login', 'gte', 2, last(1))],
  [count('login', 'between', 1, { value: [1, 2], ...last(2) })],
  [count('login', 'eq', 0, last(3)), count('custom_seen', 'gte', 1)],
  [{ ...deposited, op: 'gt', value: 1_000, ...last(2) }],
  [count('deposit_confirmed', 'gte', 2, { ...big, ...last(1) })],
  [count('custom_seen', 'gte', 3, { ...red, ...last(2) })],
  [trait('total_deposited', 'gte', 1_500), count('login', 'lte', 3)],
  [trait('custom_attributes.level', 'eq', 'gold')],
  [trait('last_seen_at', 'within_last', { hours: 1 })],
  [{ operator: 'NOT', conditions: [trait('email', 'exists', undefined)] }, count('login', 'gte', 1, last(1))],
];

const PLAYERS = 3;
const player = fc.nat(PLAYERS - 1);
/** When an event happened: mostly just now, also within the hour, at an edge, and in the future. */
const ago_ms = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
  fc.integer({ min: 0, max: 50 * MINUTE_MS }),
  fc.constantFrom(
    HOUR_MS - 1_000,
    HOUR_MS + 1_000,
    2 * HOUR_MS - 1_000,
    5 * HOUR_MS,
    -MINUTE_MS,
    -40 * MINUTE_MS,
  ),
);
const event = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ event: 'login', properties: {} }) },
  fc.record({ amount: fc.constantFrom(100, 600, 900) }).map((properties) => ({
    event: 'deposit_confirmed',
    properties: { ...properties, currency: 'EUR', payment_method: 'card' },
  })),
  fc
    .constantFrom<object>({}, { colour: 'red' }, { colour: 'blue' })
    .map((properties) => ({ event: 'custom_seen', properties })),
);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('send' as const),
      events: fc.array(fc.tuple(player, event, ago_ms), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('repeat' as const), nth: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('evaluate' as const), stops_at: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('sweep' as const), stops_at: fc.nat(15) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('wait' as const),
      ms: fc.constantFrom(1_000, 20 * MINUTE_MS, 31 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('identify' as const),
      player,
      traits: fc.constantFrom<object>({ level: 'gold' }, { level: 'tin' }, { email: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('merge' as const), player }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('refresh' as const), nth: fc.nat(SEGMENTS.length - 1) }),
  },
  { weight: 2, arbitrary: fc.constant({ does: 'settle' as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** One project, and what was done in it. */
interface World {
  tenant: TestTenant;
  segments: string[];
  names: string[];
  sent: number;
}

it(
  'members are those of the definitions, whatever happens in which order, and some are known without asking',
  async () => {
    let known = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 22 }), async (steps) => {
        const world = await newWorld();
        for (const one of steps) await take(world, one);
        await settle();
        still_ms = clock.now_ms();
        try {
          await follow();
          known += await expectRight(world);
        } finally {
          still_ms = undefined;
        }
      }),
      // A smaller case would take as long to find as all of these.
      { numRuns: runs(8), endOnFailure: true },
    );
    expect(known).toBeGreaterThan(0);
  },
  120_000 + runs(8) * 30_000,
);

async function newWorld(): Promise<World> {
  const tenant = await service.newTenant();
  const world: World = { tenant, segments: [], names: [], sent: 0 };
  for (let i = 0; i < PLAYERS; i++) world.names.push(`visitor-${i}`);
  await send(
    world,
    world.names.map((_, i) => [i, { event: 'login', properties: {} }, 0]),
  );
  for (const conditions of SEGMENTS) {
    const body = { name: 'one', definition: { operator: 'AND', conditions }, refresh_strategy: 'realtime' };
    const made = await call(`${service.base_url}/v1/segments`, tenant.session_token, { body });
    expect(made.status, made.text).toBe(201);
    world.segments.push(String(made.data['id']));
  }
  await waitUntilCaughtUp(service.platform, 30_000);
  for (const segment_id of world.segments) await refresh(world, segment_id);
  await settle();
  return world;
}

async function take(world: World, one: Step): Promise<void> {
  const { platform } = service;
  switch (one.does) {
    case 'send':
      return send(world, one.events);
    case 'repeat':
      return repeat(world, one.nth);
    case 'evaluate':
      await evaluateOnce(stopAt(platform, one.stops_at)).catch(() => false);
      return;
    case 'sweep':
      return sweepWindows(stopAt(platform, one.stops_at), 0).catch(() => undefined);
    case 'wait':
      ahead_ms += one.ms;
      return;
    case 'identify': {
      const { email, ...traits } = one.traits as { email?: boolean };
      const anonymous_id = world.names[one.player];
      const known = email === true ? { email: `${anonymous_id}@example.com` } : {};
      await identify(world, { anonymous_id, traits: { ...traits, ...known } });
      return;
    }
    case 'merge': {
      // A second device of the player has events of its own, before it is known whose it is.
      const [name, other] = [world.names[one.player] ?? '', `device-${++world.sent}`];
      world.names.push(other);
      await send(world, [[world.names.length - 1, { event: 'login', properties: {} }, 1_000]]);
      await identify(world, { anonymous_id: name, external_id: `of-${name}` });
      await identify(world, { anonymous_id: other, external_id: `of-${name}` });
      return;
    }
    case 'refresh':
      return refresh(world, world.segments[one.nth] ?? '');
    case 'settle':
      return settle();
  }
}

async function send(
  world: World,
  events: readonly (readonly [
    player: number,
    event: { event: string; properties: object },
    ago_ms: number,
  ])[],
): Promise<void> {
  const now_ms = clock.now_ms();
  const body = {
    events: events.map(([of, { event: name, properties }, ago]) => ({
      event: name,
      anonymous_id: world.names[of],
      timestamp: new Date(now_ms - ago).toISOString(),
      properties:
        name === 'deposit_confirmed' ? { ...properties, transaction_id: `t-${++world.sent}` } : properties,
    })),
  };
  const { status, text } = await call(`${service.ingest_url}/v1/events/batch`, world.tenant.api_key, {
    body,
  });
  expect(status, text).toBe(202);
}

async function identify(world: World, body: object): Promise<void> {
  const { status, text } = await call(`${service.base_url}/v1/players/identify`, world.tenant.api_key, {
    body,
  });
  expect(status, text).toBe(200);
}

/** Appends a record of the fold again, as a fold does after a crash. */
async function repeat({ tenant }: World, nth: number): Promise<void> {
  const { eventLog } = service.platform;
  const records: { key: string; value: string }[] = [];
  const { partitions } = await eventLog.describe(TOPICS.playerEvents, new Map());
  for (const [partition, { end }] of partitions) {
    for await (const batch of eventLog.read(TOPICS.playerEvents, partition, 0n, end)) {
      for (const { key, value } of batch.records)
        if (value.includes(tenant.project_id)) records.push({ key: key ?? '', value });
    }
  }
  const record = records[records.length - 1 - (nth % Math.max(records.length, 1))];
  if (record !== undefined) await eventLog.append(TOPICS.playerEvents, [record]);
}

async function refresh({ tenant }: World, segment_id: string): Promise<void> {
  const { tenant_id, project_id } = tenant;
  await runRefreshJob(service.platform, { tenant_id, project_id, segment_id });
}

/** Everything that is queued is done, and what has passed is swept. */
async function settle(): Promise<void> {
  await waitUntilCaughtUp(service.platform, 30_000);
  await follow();
}

async function follow(): Promise<void> {
  await sweepWindows(service.platform, 0);
  while (await evaluateOnce(service.platform));
}

/** Compares members with definitions, and with what is known; returns of how many players something is known. */
async function expectRight({ tenant, segments }: World): Promise<number> {
  const { platform } = service;
  const { tenant_id, project_id } = tenant;
  const project = { tenant_id, project_id };
  const sql = platform.postgres.service;
  const stored = new Map<string, string[]>();
  for (const [i, segment_id] of segments.entries()) {
    const rows = await sql<{ player_id: string }[]>`
      select player_id from segment_members where tenant_id = ${tenant_id} and segment_id = ${segment_id}`;
    stored.set(segment_id, rows.map(({ player_id }) => player_id).sort());
    const definition = readDefinition({ operator: 'AND', conditions: SEGMENTS[i] });
    expect(stored.get(segment_id), JSON.stringify(SEGMENTS[i])).toEqual(
      await matching(platform, project, definition),
    );
  }
  const plan = await planFor(sql, project);
  const players = await sql<{ player_id: string }[]>`
    select player_id from players where project_id = ${project_id}`;
  const rows = await selectEvaluated(
    sql,
    project,
    players.map(({ player_id }) => player_id),
  );
  const known = [...rows.values()].filter((row) => plan !== undefined && isKnown(row, plan));
  for (const row of known) {
    for (const [segment_id, isMatch] of plan?.decided ?? []) {
      const is_member = stored.get(segment_id)?.includes(row.player_id) === true;
      expect(is_member, `${segment_id} of ${row.player_id} by ${String(row.totals)} ${row.traits}`).toBe(
        isMatch(row as never),
      );
    }
  }
  return known.length;
}

async function matching(
  { clickhouse }: Platform,
  project: { tenant_id: string; project_id: string },
  definition: ReturnType<typeof readDefinition>,
): Promise<string[]> {
  const { sql, params } = compileMembers(definition);
  const rows = await clickhouse.query<{ player_id: string }>(sql, {
    ...params,
    ...project,
    now_ms: clock.now_ms(),
  });
  return rows.map(({ player_id }) => player_id).sort();
}

it('who is forgotten while another writes the row is not known afterwards', async () => {
  const { tenant_id, project_id } = await service.newTenant();
  const project = { tenant_id, project_id };
  const sql = service.platform.postgres.service;
  const player_id = randomUUID();
  const versions = await sql.begin((tx) => beginEvaluation(tx, project, 'a plan', [player_id]));
  let forgetting: Promise<void> | undefined;
  await sql.begin(async (tx) => {
    const next = { player_id, version: versions.get(player_id) ?? 0n, totals: [1], since_ms: 0, recent: [] };
    expect(await updateEvaluated(tx, project, [next])).toEqual(new Set([player_id]));
    forgetting = sql.begin((other) => forgetEvaluated(other, project, [player_id]));
    await statementWaits(sql, tx);
  });
  await forgetting;
  expect(await selectEvaluated(sql, project, [player_id])).toEqual(new Map());
});
