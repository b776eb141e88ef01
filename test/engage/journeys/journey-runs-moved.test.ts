import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CANCEL_RUNS_TASK,
  RESUME_RUNS_TASK,
  runCancelJob,
  runResumeJob,
} from '../../../src/engage/journeys/runs-job.ts';
import { endRuns } from '../../../src/engage/journeys/runs/cancel.ts';
import type { JobWorker } from '../../../src/platform/jobs/port.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { until } from '../../engines/until.ts';
import {
  awaits,
  dueOf,
  graphOf,
  openJourneyFixture,
  wait,
  type JourneyFixture,
  type RunFields,
} from './journey-fixture.ts';

let f: JourneyFixture;
let worker: JobWorker;
beforeAll(async () => {
  f = await openJourneyFixture();
  const { platform } = f.fixture;
  const tasks = {
    [CANCEL_RUNS_TASK]: (payload: unknown, stop: AbortSignal) => runCancelJob(platform, payload, stop),
    [RESUME_RUNS_TASK]: (payload: unknown, stop: AbortSignal) => runResumeJob(platform, payload, stop),
  };
  worker = await platform.jobs.work(tasks, []);
});
afterAll(async () => {
  await worker?.close();
  await f?.fixture.close();
});

const at = (in_ms: number) => new Date(Date.now() + in_ms);
const runsOf = (id: string) => f.fixture.platform.postgres.service<Record<string, unknown>[]>`
  select run_id, status, version, node_id, seq, due_at, outcome, cancelled_by from journey_runs
  where journey_id = ${id} order by run_id`;
const statusesOf = async (id: string) => (await runsOf(id)).map(({ status }) => String(status)).sort();

/** Makes runs of the same journey that stand on the node `wait`. */
const copyRun = (run_id: string, count: number) => f.fixture.platform.postgres.service`
  insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
    trigger_key, re_entry, trigger, context, started_at, due_at)
  select tenant_id, project_id, gen_random_uuid(), journey_id, 1, gen_random_uuid(), 'running', 'wait', 1,
    gen_random_uuid()::text, 'always', '{}', '{}', now(), now()
  from journey_runs cross join generate_series(1, ${count}) where run_id = ${run_id}`;

/** Does `work` while a transaction has changed rows, which commits when the work waits for it. */
async function meanwhile<T>(change: (tx: Tx) => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const { service } = f.fixture.platform.postgres;
  let working: Promise<T> | undefined;
  await service.begin(async (tx) => {
    await change(tx);
    working = work();
    await statementWaits(service);
  });
  return (await working) as T;
}

describe('cancelling the runs of a journey', () => {
  it('goes on after a page of which some runs moved or ended meanwhile', async () => {
    const id = await f.makeActive();
    const [first = ''] = await f.storeRuns(id, [{}]);
    await copyRun(first, 2_099);
    const ask = () => f.api('POST', `/v1/journeys/${id}/runs/cancel`, {});
    const answer = await meanwhile(
      async (tx) => {
        await tx`update journey_runs set seq = 2, due_at = due_at + interval '1 hour' where run_id = ${first}`;
        await tx`
          update journey_runs set status = 'completed', due_at = null, completed_at = now() where run_id in (
            select run_id from journey_runs where journey_id = ${id} and run_id <> ${first}
            order by started_at, run_id limit 1100)`;
      },
      // Where a machine stands still, the lock is not had in time: the answer is 503, and its caller asks once more.
      async () => {
        const first_answer = await ask();
        return first_answer.status === 503 ? ask() : first_answer;
      },
    );
    expect(answer.body.data).toEqual({ cancelled: 1_000 });
    expect(new Set(await statusesOf(id))).toEqual(new Set(['cancelled', 'completed']));
  });
});

describe('deleting a journey', () => {
  it('lets go of the runs that were held', async () => {
    const id = await f.makeActive();
    await f.api('POST', `/v1/journeys/${id}/pause`, { hold: true });
    await f.api('DELETE', `/v1/journeys/${id}`);
    const { service } = f.fixture.platform.postgres;
    expect(await service`select is_held from journeys where journey_id = ${id}`).toEqual([
      { is_held: false },
    ]);
  });

  it('cancels its runs in pieces, each exactly once', async () => {
    const id = await f.makeActive({ graph: graphOf({ ...wait('event'), id: 'wait' }, awaits('bet_placed')) });
    const [waiting = ''] = await f.storeRuns(id, [{ node_id: 'event', seq: 2, awaits: 'bet_placed' }]);
    await copyRun(waiting, 2_100);
    await f.api('DELETE', `/v1/journeys/${id}`);
    await until(async (saw) => !saw(await statusesOf(id)).includes('running'));
    const runs = await runsOf(id);
    expect(runs).toHaveLength(2_101);
    expect(new Set(runs.map(({ cancelled_by }) => cancelled_by))).toEqual(new Set(['journey_deleted']));
    expect(runs.find(({ run_id }) => run_id === waiting)).toMatchObject({ status: 'cancelled', seq: 2 });
    expect(await f.rowsOf('journey_waits', id)).toEqual([]);
    const steps = await f.rowsOf('journey_steps', id);
    expect(steps).toHaveLength(2_101);
    expect(steps.find(({ run_id }) => run_id === waiting)).toMatchObject({
      seq: 2,
      node_id: 'event',
      node_type: 'wait_for_event',
      status: 'skipped',
      outcome: 'cancelled',
    });
    // It can be repeated, and is idempotent.
    expect((await f.api('DELETE', `/v1/journeys/${id}`)).status).toBe(200);
    expect((await f.api('POST', `/v1/journeys/${id}/activate`)).status).toBe(404);
  });

  it('other runs are not touched, and of two that cancel one wins', async () => {
    const [id, other] = [await f.makeActive(), await f.makeActive()];
    await f.storeRuns(other, [{}]);
    await f.storeRuns(id, [{}, { version: 2 }, { node_id: 'elsewhere' }]);
    const ref = { ...f.tenant, journey_id: id };
    const { postgres } = f.fixture.platform;
    const cancel = (by: string) =>
      postgres.asTenant(ref.tenant_id, (tx) =>
        endRuns(
          tx,
          { ...ref, version: 1, node_id: 'wait' },
          { cancelled_by: by, now: new Date(), limit: 10 },
        ),
      );
    const [first, second] = await Promise.all([cancel('anna'), cancel('ben')]);
    expect(first + second).toBe(1);
    expect(await statusesOf(id)).toEqual(['cancelled', 'running', 'running']);
    expect(await statusesOf(other)).toEqual(['running']);
    expect(await f.rowsOf('journey_steps', id)).toHaveLength(1);
  });
});

describe('activating a journey that was held', () => {
  const held = async (runs: RunFields[], rest = {}) => {
    const id = await f.makeActive(rest);
    await f.api('POST', `/v1/journeys/${id}/pause`, { hold: true });
    // The runner has deleted the timers that came due.
    const ids = await f.storeRuns(id, runs);
    return { id, ids };
  };

  it('gives its runs their timers again', async () => {
    const later = at(60_000);
    const { id } = await held([at(-60_000), later].map((due_at) => ({ due_at, has_timer: false })));
    const before = Date.now();
    await f.api('POST', `/v1/journeys/${id}/activate`);
    await until(async (saw) => saw((await f.rowsOf('journey_timers', id)).length) === 2);
    const after_ms = Date.now();
    const [late = 0, due] = dueOf(await f.rowsOf('journey_timers', id));
    expect(due).toBe(later.getTime());
    expect(late).toBeGreaterThanOrEqual(before);
    expect(late).toBeLessThanOrEqual(after_ms);
    const { service } = f.fixture.platform.postgres;
    await until(async (saw) => {
      const resumed = saw(
        await service`
        select from journeys where journey_id = ${id} and not is_held and resuming_since is null`,
      );
      return resumed.length === 1;
    });
  });

  it('spreads what came due over the entry rate', async () => {
    // No runner has come to the last one yet.
    const runs = [false, false, true].map((has_timer) => ({ due_at: at(-60_000), has_timer }));
    const { id } = await held(runs, { settings: { max_entries_per_hour: 3_600 } });
    const before = Date.now();
    await f.api('POST', `/v1/journeys/${id}/activate`);
    const late = async () => dueOf(await f.rowsOf('journey_timers', id)).filter((due_ms) => due_ms < before);
    await until(
      async (saw) =>
        saw((await late()).length) === 0 && saw((await f.rowsOf('journey_timers', id)).length) >= 3,
    );
    const times = dueOf(await f.rowsOf('journey_timers', id));
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBe(2_000);
    const due = dueOf(await runsOf(id));
    expect(due).toEqual(times);
  });

  it('cancels what came due, if it is to be skipped', async () => {
    const { id, ids } = await held([
      { due_at: at(-60_000), has_timer: false },
      { due_at: at(60_000), has_timer: false },
    ]);
    await f.api('POST', `/v1/journeys/${id}/activate`, { resume: 'skip' });
    await until(async (saw) => saw((await f.rowsOf('journey_timers', id)).length) === 1);
    const late = (await runsOf(id)).find(({ run_id }) => run_id === ids[0]);
    expect(late).toMatchObject({ status: 'cancelled', cancelled_by: 'resume' });
    expect((await f.rowsOf('journey_timers', id))[0]).toMatchObject({ run_id: ids[1], seq: 1 });
  });
});

describe('moving runs to another version', () => {
  const migrate = (id: string, rest: object) =>
    f.api('POST', `/v1/journeys/${id}/migrate-runs`, {
      from_version: 1,
      to_version: 2,
      unmapped: 'stay',
      dry_run: false,
      ...rest,
    });
  /** Version 1 has `wait`, `event` and `gone`; version 2 has `wait` twice as long, `event` and `late`. */
  const edited = async () => {
    const id = await f.makeActive({ graph: graphOf(wait('event'), awaits('login'), wait('end', 'gone')) });
    const graph = graphOf(wait('event', 'wait', 120_000), awaits('login'), wait('end', 'late'));
    expect((await f.api('PATCH', `/v1/journeys/${id}`, { graph })).status).toBe(200);
    return id;
  };

  it('counts first, then moves, and leaves what has no place', async () => {
    const id = await edited();
    const [moving = '', , staying = ''] = await f.storeRuns(id, [
      {},
      { node_id: 'event', seq: 2, awaits: 'login' },
      { node_id: 'gone', seq: 3 },
    ]);
    const expected = { moved: 2, stayed: 1, exited: 0, by_node: { wait: 1, event: 1, gone: 1 } };
    const timers = await f.rowsOf('journey_timers', id);
    expect((await migrate(id, { dry_run: true })).body.data).toEqual(expected);
    expect(new Set((await runsOf(id)).map(({ version }) => version))).toEqual(new Set([1]));
    expect((await migrate(id, {})).body.data).toEqual(expected);
    const runs = await runsOf(id);
    expect(runs.find(({ run_id }) => run_id === moving)).toMatchObject({
      version: 2,
      node_id: 'wait',
      seq: 1,
    });
    expect(runs.find(({ run_id }) => run_id === staying)).toMatchObject({ version: 1, node_id: 'gone' });
    expect(await f.rowsOf('journey_timers', id)).toEqual(timers);
    expect(await f.rowsOf('journey_waits', id)).toHaveLength(1);
    // Again there is nothing left to move.
    expect((await migrate(id, {})).body.data).toMatchObject({ moved: 0, stayed: 1 });
  });

  it('ends or maps what has no place', async () => {
    const id = await edited();
    await f.storeRuns(id, [{ node_id: 'gone', seq: 3 }]);
    expect((await migrate(id, { node_map: { gone: 'late' } })).body.data).toMatchObject({ moved: 1 });
    expect((await runsOf(id))[0]).toMatchObject({ version: 2, node_id: 'late', status: 'running' });
    const [leaving] = await f.storeRuns(id, [{ node_id: 'gone', seq: 3 }]);
    expect((await migrate(id, { unmapped: 'exit' })).body.data).toMatchObject({ exited: 1, stayed: 0 });
    const ended = (await runsOf(id)).find(({ run_id }) => run_id === leaving);
    expect(ended).toMatchObject({ status: 'completed', outcome: 'exited', cancelled_by: null });
  });

  it('times waits anew only when asked to, with one timer for each run', async () => {
    const id = await edited();
    const entered_at = at(-90_000);
    await f.storeRuns(id, [
      { entered_at, due_at: at(-30_000) },
      { entered_at: at(-500_000), due_at: at(-440_000) },
    ]);
    const before_ms = Date.now();
    expect((await migrate(id, { recompute_waits: true })).body.data).toMatchObject({ moved: 2 });
    const after_ms = Date.now();
    const due = dueOf(await runsOf(id));
    const timers = dueOf(await f.rowsOf('journey_timers', id));
    expect(timers).toEqual(due);
    expect(due[1]).toBe(entered_at.getTime() + 120_000);
    expect(due[0]).toBeLessThanOrEqual(after_ms);
    expect(due[0]).toBeGreaterThanOrEqual(before_ms);
  });

  it('leaves a run that was woken when its time is counted anew', async () => {
    const id = await edited();
    const [run_id = ''] = await f.storeRuns(id, [{ node_id: 'event', seq: 2, due_at: at(-1_000) }]);
    await f.fixture.platform.postgres.service`
      update journey_runs set woken_by = '{"kind": "event"}' where run_id = ${run_id}`;
    const [before] = dueOf(await runsOf(id));
    expect((await migrate(id, { recompute_waits: true })).body.data).toMatchObject({ moved: 1 });
    expect(await runsOf(id)).toMatchObject([{ version: 2, due_at: new Date(before ?? 0) }]);
    expect(dueOf(await f.rowsOf('journey_timers', id))).toEqual([before]);
  });

  it('refuses versions and nodes that do not exist or do not fit', async () => {
    const id = await edited();
    for (const [rest, status, code, path] of [
      [{ to_version: 1 }, 422, 'VALIDATION_ERROR', 'to_version'],
      [{ to_version: 3 }, 404, 'JOURNEY_VERSION_NOT_FOUND', undefined],
      [{ node_map: { nowhere: 'wait' } }, 422, 'VALIDATION_ERROR', 'node_map.nowhere'],
      [{ node_map: { wait: 'nowhere' } }, 422, 'VALIDATION_ERROR', 'node_map.wait'],
      [{ node_map: { wait: 'event' } }, 422, 'VALIDATION_ERROR', 'node_map.wait'],
      [{ unmapped: 'lose' }, 422, 'VALIDATION_ERROR', 'unmapped'],
    ] as const) {
      const answer = await migrate(id, rest);
      expect([answer.status, answer.body.error.code], answer.text).toEqual([status, code]);
      const issues = (answer.body.error.details?.['issues'] ?? []) as { path: string }[];
      expect(issues[0]?.path).toBe(path);
    }
  });
});
