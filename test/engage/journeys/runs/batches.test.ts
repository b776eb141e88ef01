import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { JourneyRunner, type RunnerDeps } from '../../../../src/engage/journeys/runs/runner.ts';
import { BatchSize } from '../../../../src/engage/journeys/runs/batch-size.ts';
import { startTestService, type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { end, runFixture, update, wait, type RunFixture } from './run-fixture.ts';

let service: TestService;
let on: RunFixture;
beforeAll(async () => {
  // Without the role journey-runner: each test has runners of its own.
  service = await startTestService({ roles: new Set(['api', 'intake', 'player-fold', 'player-mirror']) });
  on = runFixture(service);
});
afterAll(async () => service?.close());
afterEach(async () => {
  vi.restoreAllMocks();
  // What a failed test left must not come due in the next one.
  await on.sql`delete from journey_timers`;
});

const runnerOf = (changed: Partial<RunnerDeps> = {}) =>
  new JourneyRunner({ ...service.platform, erasure_key: Buffer.alloc(32), ...changed });

const dueNow = async () => {
  const [row] = await on.sql<{ due: number }[]>`
    select count(*)::integer as due from journey_timers where due_at <= now()`;
  return row?.due ?? 0;
};

const statuses = async (journey_id: string) => {
  const rows = await on.sql<{ status: string; runs: number }[]>`
    select status, count(*)::integer as runs from journey_runs where journey_id = ${journey_id} group by 1`;
  return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
};

/** A journey that sends 48 messages at once. */
async function manySends(fixture: RunFixture): Promise<string> {
  const template_id = await fixture.client.template();
  const provider_id = await fixture.client.provider();
  const sends = Array.from({ length: 48 }, (_, i) => ({
    id: `s${i}`,
    type: 'send_message',
    template_id,
    provider_id,
    quiet_hours: 'skip',
    on_error: 'continue',
    next: i === 47 ? 'end' : `s${i + 1}`,
  }));
  return fixture.journey([...sends, end()]);
}

it('a batch writes no more than its bound in bytes, shared by the projects; the other runs stay due', async () => {
  const journey_id = await manySends(on);
  const player_ids = await on.client.players(60);
  await on.begin(journey_id, player_ids, 's0');
  const context = JSON.stringify({ trigger_payload: { text: 'x'.repeat(16_000) } });
  await on.sql`update journey_runs set context = ${context}::text::jsonb where journey_id = ${journey_id}`;
  // Begun after them, so it sorts behind them.
  const other = runFixture(service, await service.newTenant());
  const of_other = await other.journey([wait('w', 0, 'end'), end()]);
  await other.begin(of_other, await other.client.players(1), 'w');
  const runner = runnerOf();
  await runner.turn();
  const { completed = 0, running = 0 } = await statuses(journey_id);
  expect(completed).toBeGreaterThan(10);
  expect(running).toBeGreaterThan(30);
  expect(await dueNow()).toBe(running);
  expect(await statuses(of_other)).toEqual({ completed: 1 });
  const [sent] = await on.sql<{ count: number }[]>`
    select count(*)::integer from message_sends where journey_id = ${journey_id}`;
  expect(sent?.count).toBe(completed * 48);
  while ((await dueNow()) > 0) await runner.turn();
  expect(await statuses(journey_id)).toEqual({ completed: 60 });
});

it('a run whose writes this program cannot make fails alone', async () => {
  const journey_id = await on.journey([update('u', { n: 1 }, 'end'), end()]);
  const run_ids = await on.begin(journey_id, await on.client.players(8), 'u');
  const { player_id } = await on.run(journey_id, run_ids[5] ?? '');
  vi.spyOn(service.platform.logger, 'error').mockImplementation(() => undefined);
  const { postgres } = service.platform;
  // As V8 does when a text grows over 512 MB.
  const refusing = (tx: object) =>
    new Proxy(tx as (...args: unknown[]) => unknown, {
      apply(target, self, args: unknown[]) {
        if (String(args[0]).includes('update players') && JSON.stringify(args).includes(player_id)) {
          throw new RangeError('Invalid string length');
        }
        return Reflect.apply(target, self, args);
      },
    });
  const service_db = new Proxy(postgres.service, {
    get(target, name, receiver) {
      if (name !== 'begin') return Reflect.get(target, name, receiver) as unknown;
      return (work: (tx: never) => Promise<unknown>) => target.begin((tx) => work(refusing(tx) as never));
    },
  });
  const runner = runnerOf({ postgres: { ...postgres, service: service_db } });
  await runner.turn();
  expect(await statuses(journey_id)).toEqual({ completed: 7, failed: 1 });
  expect(await on.run(journey_id, run_ids[5] ?? '')).toMatchObject({
    status: 'failed',
    error_code: 'JOURNEY_STEP_ERROR',
  });
});

it('a batch that took long halves the next ones, which grow again slowly', () => {
  const size = new BatchSize();
  expect(size.runs).toBe(1_000);
  size.note({ took_ms: 300, claimed: 1_000, left: 0 });
  expect(size.runs).toBe(500);
  // Between the bounds it stays.
  size.note({ took_ms: 200, claimed: 500, left: 0 });
  expect(size.runs).toBe(500);
  // A batch that was not full says nothing about a larger one.
  size.note({ took_ms: 50, claimed: 499, left: 0 });
  expect(size.runs).toBe(500);
  size.note({ took_ms: 50, claimed: 500, left: 0 });
  expect(size.runs).toBe(550);
  // Runs were left: claiming as many again would lock and read them in vain.
  size.note({ took_ms: 50, claimed: 550, left: 1 });
  expect(size.runs).toBe(275);
  for (let i = 0; i < 10; i++) size.note({ took_ms: 10_000, claimed: 100, left: 0 });
  expect(size.runs).toBe(100);
  for (let i = 0; i < 30; i++) size.note({ took_ms: 1, claimed: size.runs, left: 0 });
  expect(size.runs).toBe(1_000);
});

it('runs that ask while all places of their project are taken are answered as soon as one is free', async () => {
  const condition = { type: 'event', event: 'deposit_confirmed', aggregate: 'count', op: 'gte', value: 1 };
  const branch = { id: 'b', type: 'branch', branches: [{ condition, next: 'yes' }], else_next: 'no' };
  const journey_id = await on.journey([branch, end('yes'), end('no')]);
  const { clickhouse } = service.platform;
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let asked = 0;
  const slow = new Proxy(clickhouse, {
    get(target, name, receiver) {
      if (name !== 'query') return Reflect.get(target, name, receiver) as unknown;
      return async (...args: Parameters<typeof target.query>) => {
        asked += 1;
        await opened;
        return target.query(...args);
      };
    },
  });
  // Everything that has begun is due, and this time stands still: a run that asks does not come due again.
  const now_ms = Date.now() + 3_600_000;
  const runner = runnerOf({ clickhouse: slow, clock: { now_ms: () => now_ms } });
  // Each of the first two takes a place with a single run.
  for (const count of [1, 1, 20, 20]) {
    await on.begin(journey_id, await on.client.players(count), 'b');
    await runner.turn();
  }
  await until((saw) => saw(asked) === 2);
  open();
  await until(async (saw) => saw((await statuses(journey_id))['completed']) === 42);
  // The last forty were asked about together.
  expect(asked).toBe(3);
  await runner.close();
});
