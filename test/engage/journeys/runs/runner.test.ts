import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { claimDue, lockRuns } from '../../../../src/engage/journeys/runs/claim-queries.ts';
import { runResumeJob } from '../../../../src/engage/journeys/runs-job.ts';
import { JourneyRunner, type RunnerDeps } from '../../../../src/engage/journeys/runs/runner.ts';
import { Sweeper } from '../../../../src/engage/journeys/runs/sweeper.ts';
import type { AttemptOutcome } from '../../../../src/engage/webhooks/call.ts';
import { claimDeliveries } from '../../../../src/engage/webhooks/claim-queries.ts';
import { writeResults } from '../../../../src/engage/webhooks/result-queries.ts';
import { resultOf } from '../../../../src/engage/webhooks/results.ts';
import { statementWaits } from '../../../engines/lock-wait.ts';
import { startTestService, type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { end, runFixture, update, wait, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;
const NOTHING_SAID = { error: null, reason: null, retry_after_ms: null, text: null, is_cut: false };
const DELIVERED: AttemptOutcome = { kind: 'delivered', status: 200, ...NOTHING_SAID };

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
  await on.sql`delete from webhook_deliveries`;
});

const runnerOf = (changed: Partial<RunnerDeps> = {}) =>
  new JourneyRunner({ ...service.platform, erasure_key: Buffer.alloc(32), ...changed });

/** Takes turns until nothing is due. */
async function drain(...runners: readonly JourneyRunner[]): Promise<void> {
  const turns = async (runner: JourneyRunner) => {
    while ((await dueNow()) > 0) await runner.turn();
    await runner.close();
  };
  await Promise.all(runners.map(turns));
}
async function dueNow(): Promise<number> {
  const [row] = await on.sql<{ due: number }[]>`
    select count(*)::integer as due from journey_timers where due_at <= now()`;
  return row?.due ?? 0;
}
/** Runs statements as the owner of the database. */
const asOwner = (statements: string) =>
  on.sql.begin(async (tx) => {
    await tx`set local role none`;
    await tx.unsafe(statements);
  });
async function stored(journey_id: string) {
  return on.sql<
    {
      run_id: string;
      status: string;
      node_id: string;
      seq: number;
      steps: number;
      timers: number;
      error_code: string | null;
    }[]
  >`
    select r.run_id, r.status, r.node_id, r.seq, r.error_code,
      (select count(*)::integer from journey_steps s where s.run_id = r.run_id) as steps,
      (select count(*)::integer from journey_timers t where t.run_id = r.run_id and t.seq = r.seq and t.due_at = r.due_at) as timers
    from journey_runs r where r.journey_id = ${journey_id} order by r.run_id`;
}

it('two runners side by side move 2,500 runs, each exactly once, with one timer each', async () => {
  const player_ids = await on.client.players(2_500);
  const journey_id = await on.journey([update('u', { seen: true }, 'w'), wait('w', DAY_MS, 'end'), end()]);
  await on.begin(journey_id, player_ids, 'u');
  await drain(runnerOf(), runnerOf());
  const runs = await stored(journey_id);
  expect(runs).toHaveLength(2_500);
  const odd = runs.filter(
    (run) =>
      run.status !== 'running' || run.node_id !== 'w' || run.seq !== 2 || run.steps !== 1 || run.timers !== 1,
  );
  expect(odd).toEqual([]);
  const [timers] = await on.sql<{ count: number }[]>`select count(*)::integer as count from journey_timers`;
  expect(timers?.count).toBe(2_500);
  const metrics = await service.platform.metrics.registry.metrics();
  expect(metrics).toMatch(/^journey_steps_total\{type="update_player",outcome="completed"\} 2500$/m);
});

it('a run whose step cannot be decided fails alone', async () => {
  const player_ids = await on.client.players(20);
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  const run_ids = await on.begin(journey_id, player_ids, 'w');
  await on.sql`update journey_runs set node_id = 'gone' where run_id = ${run_ids[7] ?? ''}`;
  await drain(runnerOf());
  const runs = await stored(journey_id);
  const failed = runs.filter(({ status }) => status === 'failed');
  expect(failed).toMatchObject([
    { run_id: run_ids[7], error_code: 'JOURNEY_STEP_ERROR', node_id: 'gone', steps: 1 },
  ]);
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(19);
});

it('a run whose effect Postgres or the rules of players refuse fails alone', async () => {
  const player_ids = await on.client.players(20);
  const journey_id = await on.journey([update('u', { more: 'x'.repeat(200) }, 'end'), end()]);
  const run_ids = await on.begin(journey_id, player_ids, 'u');
  // This player's attributes are nearly as large as they may be; that one's step exists already.
  const full = JSON.stringify({ text: 'x'.repeat(65_400) });
  await on.sql`update players set custom_attributes = ${full}::text::jsonb where player_id = ${player_ids[3] ?? ''}`;
  const [full_run] = await on.sql<{ run_id: string }[]>`
    select run_id from journey_runs where journey_id = ${journey_id} and player_id = ${player_ids[3] ?? ''}`;
  const [stepped_run] = await on.sql<{ run_id: string }[]>`
    insert into journey_steps (tenant_id, project_id, run_id, seq, node_id, node_type, status, outcome, entered_at,
      completed_at)
    select tenant_id, project_id, run_id, seq, node_id, 'update_player', 'completed', 'updated', now(), now()
    from journey_runs where journey_id = ${journey_id} and player_id = ${player_ids[5] ?? ''}
    returning run_id`;
  await drain(runnerOf());
  const runs = await stored(journey_id);
  const failed = runs.filter(({ status }) => status === 'failed');
  expect(failed.map(({ error_code }) => error_code)).toEqual(['JOURNEY_STEP_ERROR', 'JOURNEY_STEP_ERROR']);
  expect(new Set(failed.map(({ run_id }) => run_id))).toEqual(
    new Set([full_run?.run_id, stepped_run?.run_id]),
  );
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(run_ids.length - 2);
});

it('a run that cannot even fail rests for a minute, and the others go on', async () => {
  const player_ids = await on.client.players(20);
  const journey_id = await on.journey([update('u', { more: 'x'.repeat(200) }, 'end'), end()]);
  await on.begin(journey_id, player_ids, 'u');
  const full = JSON.stringify({ text: 'x'.repeat(65_400) });
  await on.sql`update players set custom_attributes = ${full}::text::jsonb where player_id = ${player_ids[3] ?? ''}`;
  await asOwner(`
    create function no_failure() returns trigger language plpgsql as $$
      begin raise exception 'no failure' using errcode = '23514'; end $$;
    create trigger no_failure before update on journey_runs
      for each row when (new.journey_id = '${journey_id}'::uuid and new.status = 'failed') execute function no_failure()`);
  vi.spyOn(service.platform.logger, 'error').mockImplementation(() => undefined);
  try {
    await drain(runnerOf());
  } finally {
    await asOwner('drop trigger no_failure on journey_runs; drop function no_failure()');
  }
  const left = (await stored(journey_id)).filter(({ status }) => status !== 'completed');
  expect(left).toMatchObject([{ status: 'running', node_id: 'u', seq: 1, steps: 0, timers: 1 }]);
  await runnerOf({ clock: { now_ms: () => Date.now() + 61_000 } }).turn();
  expect((await stored(journey_id)).filter(({ status }) => status === 'failed')).toHaveLength(1);
});

it('a few runs of many projects do not wait for the many runs of one', async () => {
  const crowd = await on.client.players(3_000);
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  await on.begin(journey_id, crowd, 'w');
  const small = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const other = runFixture(service, await service.newTenant());
      const of_other = await other.journey([wait('w', 0, 'end'), end()]);
      await other.begin(of_other, await other.client.players(5), 'w');
      return of_other;
    }),
  );
  const runner = runnerOf();
  // The first batch has the oldest runs; the second one takes its quota of each project.
  await runner.turn();
  await runner.turn();
  for (const of_other of small) {
    expect((await stored(of_other)).map(({ status }) => status)).toEqual(Array(5).fill('completed'));
  }
  expect(await dueNow()).toBeGreaterThan(1_000);
  await drain(runner);
  expect((await stored(journey_id)).filter(({ status }) => status !== 'completed').slice(0, 20)).toEqual([]);
});

it('while more is due than fits into a batch, a second one moves other runs beside it', async () => {
  const crowd = await on.client.players(2_600);
  const journey_id = await on.journey([wait('w', 0, 'x'), wait('x', 0, 'end'), end()]);
  await on.begin(journey_id, crowd, 'w');
  const runner = runnerOf();
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const crowded = vi.fn();
  runner.onCrowd = crowded;
  expect(await runner.turnSecond()).toBe(false);
  expect(await dueNow()).toBe(2_600);
  await runner.turn();
  expect(crowded).toHaveBeenCalledTimes(1);
  expect(await Promise.all([runner.turn(), runner.turnSecond()])).toEqual([true, true]);
  expect(await dueNow()).toBe(0);
  // Everything that was due is moved: nothing is left to do beside.
  expect(await runner.turnSecond()).toBe(false);
  const moved = await stored(journey_id);
  expect(moved).toHaveLength(2_600);
  expect(
    moved.every(({ status, steps, timers }) => status === 'completed' && steps === 3 && timers === 0),
  ).toBe(true);
});

it('many runs of one project alone fill each batch', async () => {
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  await on.begin(journey_id, await on.client.players(2_500), 'w');
  const runner = runnerOf();
  // No batch takes long, whatever else the machine does: they stay large.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  for (let batch = 1; batch <= 3; batch++) await runner.turn();
  expect(await dueNow()).toBe(0);
});

it('a run that is cancelled while it is claimed is either moved first or not at all', async () => {
  const [player_id = ''] = await on.client.players(1);
  const journey_id = await on.journey([update('u', { touched: true }, 'w'), wait('w', DAY_MS, 'end'), end()]);
  const [run_id = ''] = await on.begin(journey_id, [player_id], 'u');
  const ask = () => on.client.api('POST', `/v1/journeys/${journey_id}/runs/${run_id}/cancel`);
  // Where a machine stands still, the lock is not had in time: the answer is 503, and its caller asks once more.
  const cancel = async () => {
    const answer = await ask();
    return answer.status === 503 ? ask() : answer;
  };
  // The claim holds the run: the cancellation waits, and its step is that of the node to which the run has moved.
  let cancelled: Promise<unknown> | undefined;
  await on.sql
    .begin(async (tx) => {
      const timers = await claimDue(tx, new Date(), 10);
      expect(await lockRuns(tx, timers)).toHaveLength(1);
      cancelled = cancel();
      await statementWaits(on.sql);
      throw new Error('crashed');
    })
    .catch(() => undefined);
  expect(await cancelled).toMatchObject({ status: 200 });
  await drain(runnerOf());
  expect(await stored(journey_id)).toMatchObject([{ status: 'cancelled', node_id: 'u', steps: 1 }]);
  expect((await on.player(player_id))['custom_attributes']).not.toHaveProperty('touched');
});

it('a crash rolls a batch back, and an error of the infrastructure is repeated', async () => {
  const player_ids = await on.client.players(10);
  const journey_id = await on.journey([update('u', { n: 1 }, 'end'), end()]);
  await on.begin(journey_id, player_ids, 'u');
  const { postgres } = service.platform;
  const service_db = new Proxy(postgres.service, {
    get(target, name, receiver) {
      if (name !== 'begin') return Reflect.get(target, name, receiver) as unknown;
      return (work: (tx: never) => Promise<unknown>) =>
        target.begin(async (tx) => {
          await work(tx as never);
          throw new Error('the connection is lost');
        });
    },
  });
  const broken = runnerOf({ postgres: { ...postgres, service: service_db } });
  await expect(broken.turn()).rejects.toThrow('the connection is lost');
  expect((await stored(journey_id)).every(({ status, steps }) => status === 'running' && steps === 0)).toBe(
    true,
  );
  await drain(runnerOf());
  expect((await stored(journey_id)).every(({ status, steps }) => status === 'completed' && steps === 2)).toBe(
    true,
  );
});

it('the runs of a held journey stand still, and go on where they were', async () => {
  const player_ids = await on.client.players(5);
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  await on.sql`update journeys set status = 'paused', is_held = true where journey_id = ${journey_id}`;
  await on.begin(journey_id, player_ids, 'w');
  await drain(runnerOf());
  expect(
    (await stored(journey_id)).every(
      ({ status, seq, timers }) => status === 'running' && seq === 1 && timers === 0,
    ),
  ).toBe(true);
  await on.sql`update journeys set status = 'active', is_held = false where journey_id = ${journey_id}`;
  await on.sql`
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select tenant_id, project_id, due_at, run_id, seq from journey_runs where journey_id = ${journey_id}`;
  await drain(runnerOf());
  expect((await stored(journey_id)).filter(({ status }) => status !== 'completed').slice(0, 20)).toEqual([]);
});

it('what came due while a journey was held stands still until the job has resumed it', async () => {
  const player_ids = await on.client.players(2);
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  const call = (what: string, body: object) =>
    on.client.api('POST', `/v1/journeys/${journey_id}/${what}`, body);
  await call('pause', { hold: true });
  // The runner has dropped the timer of the one, and not come to the other.
  const [dropped = ''] = await on.begin(journey_id, player_ids, 'w');
  await on.sql`delete from journey_timers where run_id = ${dropped}`;
  expect(await call('activate', { resume: 'skip' })).toMatchObject({ status: 200 });
  // A run that comes due after the activation goes on at once.
  const [fresh] = await on.begin(journey_id, await on.client.players(1), 'w');
  vi.spyOn(service.platform.logger, 'warn').mockImplementation(() => undefined);
  await new Sweeper(service.platform).turn();
  expect(await on.sql`select from journey_timers where run_id = ${dropped}`).toEqual([]);
  await drain(runnerOf());
  const held = async () => (await stored(journey_id)).filter(({ run_id }) => run_id !== fresh);
  const standing = { status: 'running', seq: 1, timers: 0 };
  expect(await held()).toMatchObject([standing, standing]);
  expect(await on.run(journey_id, fresh ?? '')).toMatchObject({ status: 'completed' });
  const resuming = () =>
    on.sql<{ resuming_since: Date | null }[]>`
      select resuming_since from journeys where journey_id = ${journey_id}`;
  const since = (await resuming())[0]?.resuming_since?.toISOString();
  const { tenant_id, project_id } = service;
  const payload = { tenant_id, project_id, journey_id, resume: 'skip', since };
  await runResumeJob(service.platform, payload, new AbortController().signal);
  expect(await held()).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
  expect(await resuming()).toEqual([{ resuming_since: null }]);
});

it('the runs of a deleted journey are cancelled', async () => {
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  const [run_id = ''] = await on.begin(journey_id, await on.client.players(1), 'w');
  await on.sql`update journeys set deleted_at = now() where journey_id = ${journey_id}`;
  await drain(runnerOf());
  expect(await on.run(journey_id, run_id)).toMatchObject({
    status: 'cancelled',
    cancelled_by: 'journey_deleted',
  });
});

it('a question that ClickHouse does not answer holds up only the runs that ask it', async () => {
  const [asker = '', other = ''] = await on.client.players(2);
  const condition = { type: 'event', event: 'deposit_confirmed', aggregate: 'count', op: 'gte', value: 1 };
  const asking = await on.journey([
    { id: 'b', type: 'branch', branches: [{ condition, next: 'yes' }], else_next: 'no' },
    end('yes'),
    end('no'),
  ]);
  const plain = await on.journey([wait('w', 0, 'end'), end()]);
  await on.begin(asking, [asker], 'b');
  await on.begin(plain, [other], 'w');
  const { clickhouse } = service.platform;
  const away = { ...clickhouse, query: () => Promise.reject(new Error('ClickHouse is away')) };
  let ahead_ms = 0;
  const clock = { now_ms: () => Date.now() + ahead_ms };
  vi.spyOn(service.platform.logger, 'warn').mockImplementation(() => undefined);
  await drain(runnerOf({ clickhouse: away }));
  expect(await stored(plain)).toMatchObject([{ status: 'completed' }]);
  expect(await stored(asking)).toMatchObject([{ status: 'running', node_id: 'b', steps: 0, timers: 1 }]);
  ahead_ms = 60_000;
  const runner = runnerOf({ clock });
  await runner.turn();
  await runner.close();
  expect(await stored(asking)).toMatchObject([{ status: 'completed', node_id: 'no' }]);
});

it('the answer to a run that was moved to another version meanwhile is asked for again', async () => {
  const condition = { type: 'event', event: 'deposit_confirmed', aggregate: 'count', op: 'gte', value: 1 };
  const journey_id = await on.journey([
    { id: 'b', type: 'branch', branches: [{ condition, next: 'yes' }], else_next: 'no' },
    end('yes'),
    end('no'),
  ]);
  await on.sql`
    insert into journey_versions select tenant_id, project_id, journey_id, 2, trigger, graph, settings, published_at
    from journey_versions where journey_id = ${journey_id}`;
  await on.begin(journey_id, await on.client.players(1), 'b');
  const { clickhouse } = service.platform;
  let asked = 0;
  const query: typeof clickhouse.query = async (...question) => {
    if (++asked === 1) await on.sql`update journey_runs set version = 2 where journey_id = ${journey_id}`;
    return clickhouse.query(...question);
  };
  const runner = runnerOf({ clickhouse: { ...clickhouse, query } });
  await until(async (saw) => {
    await runner.turn();
    return saw((await stored(journey_id))[0]?.status) === 'completed';
  });
  await runner.close();
  expect(asked).toBe(2);
});

describe('a run that waits for a webhook', () => {
  const call = {
    id: 'c',
    type: 'call_webhook',
    url: 'https://example.com/hook',
    on_error: 'fail',
    next: 'end',
  };
  const nodes = [wait('w', 0, 'c'), call, end()];
  /** Moves the runs back to the first node, where they go on at once. */
  const moveBack = (journey_id: string) => on.sql`
    with moved as (
      update journey_runs set node_id = 'w', seq = 3, due_at = date_trunc('milliseconds', now())
      where journey_id = ${journey_id} returning *)
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select tenant_id, project_id, due_at, run_id, seq from moved`;
  /** Begins runs, and the calls that they wait for; resolves with what writes that all calls were answered. */
  async function calling(journey_id: string, runs: number, begun?: (run_ids: string[]) => Promise<unknown>) {
    await on.begin(journey_id, await on.client.players(runs), 'w');
    await drain(runnerOf());
    await begun?.((await stored(journey_id)).map(({ run_id }) => run_id));
    const { tenant_id } = service;
    const lane = { tenant_id, host: 'example.com', places: runs };
    const claimed = await claimDeliveries(on.sql, [lane], new Date());
    expect(claimed).toHaveLength(runs);
    const results = claimed.map((delivery) => resultOf(delivery, DELIVERED, Date.now()));
    return () => on.sql.begin((tx) => writeResults(tx, results, new Date()));
  }

  it('takes the outcome that there is, when it was moved back', async () => {
    const journey_id = await on.journey(nodes);
    await on.begin(journey_id, await on.client.players(3), 'w');
    const runner = runnerOf();
    await drain(runner);
    const runs = await stored(journey_id);
    expect(runs.map(({ node_id }) => node_id)).toEqual(['c', 'c', 'c']);
    const [delivered = '', failed = '', pending = ''] = runs.map(({ run_id }) => run_id);
    await on.sql`update webhook_deliveries set status = 'delivered', completed_at = now() where run_id = ${delivered}`;
    await on.sql`
    update webhook_deliveries set status = 'failed', last_error = 'WEBHOOK_REFUSED', completed_at = now()
    where run_id = ${failed}`;
    await moveBack(journey_id);
    await drain(runner);
    const byRun = new Map((await stored(journey_id)).map((run) => [run.run_id, run]));
    expect(byRun.get(delivered)).toMatchObject({ status: 'completed', node_id: 'end' });
    expect(byRun.get(failed)).toMatchObject({ status: 'failed', error_code: 'WEBHOOK_REFUSED' });
    expect(byRun.get(pending)).toMatchObject({ status: 'running', node_id: 'c', seq: 4 });
    expect(await on.sql`select seq from webhook_deliveries where run_id = ${pending}`).toEqual([{ seq: 4 }]);
  });

  it('takes the outcome of the call that was under way, when it was moved back', async () => {
    const journey_id = await on.journey(nodes);
    // The first of the runs did not wait, in its version of the node.
    const answer = await calling(
      journey_id,
      2,
      ([unawaited = '']) => on.sql`
      update webhook_deliveries set wait_for_response = false where run_id = ${unawaited}`,
    );
    await moveBack(journey_id);
    await drain(runnerOf());
    const again = { node_id: 'c', seq: 4 };
    expect(await stored(journey_id)).toMatchObject([again, again]);
    await answer();
    await drain(runnerOf());
    expect(await stored(journey_id)).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  });

  it('takes it also while another transaction changes the run', async () => {
    const journey_id = await on.journey(nodes);
    const answer = await calling(journey_id, 1);
    await moveBack(journey_id);
    await drain(runnerOf());
    let answered: Promise<unknown> | undefined;
    await on.sql.begin(async (tx) => {
      await tx`update journey_runs set changed_xid = pg_current_xact_id() where journey_id = ${journey_id}`;
      answered = answer();
      await statementWaits(on.sql, tx);
    });
    await answered;
    await drain(runnerOf());
    expect(await stored(journey_id)).toMatchObject([{ status: 'completed' }]);
  });

  it('takes it also when a change of version has replaced the node', async () => {
    const journey_id = await on.journey(nodes);
    const graph = { start_node_id: 'w', nodes: [wait('w', 0, 'd'), { ...call, id: 'd' }, end()] };
    await on.sql`
      insert into journey_versions
      select tenant_id, project_id, journey_id, 2, trigger, ${JSON.stringify(graph)}::text::jsonb, settings, published_at
      from journey_versions where journey_id = ${journey_id}`;
    const answer = await calling(journey_id, 1);
    const { data } = await on.client.api('POST', `/v1/journeys/${journey_id}/migrate-runs`, {
      from_version: 1,
      to_version: 2,
      node_map: { c: 'd' },
      unmapped: 'stay',
      dry_run: false,
    });
    expect(data).toMatchObject({ moved: 1 });
    await answer();
    await drain(runnerOf());
    expect(await stored(journey_id)).toMatchObject([{ status: 'completed' }]);
  });
});

it('the sweeper sets a missing timer once, and fails a run that is found again', async () => {
  const journey_id = await on.journey([wait('w', 0, 'end'), end()]);
  const [lost = ''] = await on.begin(journey_id, await on.client.players(1), 'w');
  vi.spyOn(service.platform.logger, 'warn').mockImplementation(() => undefined);
  vi.spyOn(service.platform.logger, 'error').mockImplementation(() => undefined);
  const sweeper = new Sweeper(service.platform);
  await sweeper.turn();
  expect(await stored(journey_id)).toMatchObject([{ run_id: lost, timers: 1 }]);
  await on.sql`delete from journey_timers where run_id = ${lost}`;
  await sweeper.turn();
  expect(await stored(journey_id)).toMatchObject([{ run_id: lost, timers: 1, status: 'running' }]);
  await on.sql`delete from journey_timers where run_id = ${lost}`;
  await sweeper.turn();
  expect(await stored(journey_id)).toMatchObject([
    { status: 'failed', error_code: 'JOURNEY_STUCK', steps: 1 },
  ]);
});
