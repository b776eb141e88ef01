import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openJobs } from '../../../src/platform/jobs/graphile.ts';
import { migrateJobs } from '../../../src/platform/jobs/migrate.ts';
import type { CronEntry, Jobs, JobWorker, NewJob, Task } from '../../../src/platform/jobs/port.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../../src/platform/postgres/port.ts';
import { until } from '../../engines/until.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

const TENANT = '00000000-0000-4000-8000-000000000001';

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let owner: Db;
let postgres: Postgres;
const workers: JobWorker[] = [];
const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
const metrics = createMetrics();
let jobs: Jobs;

beforeAll(async () => {
  server = await openTestPostgres();
  owner = connectPool(server.url);
  await migratePostgres(owner);
  // Three migrations at the same time, as when three processes start together.
  await Promise.all([1, 2, 3].map(() => migrateJobs(server.url, createLogger('silent'))));
  postgres = openPostgres(server.url);
  jobs = openJobs({ url: server.url, logger, metrics });
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  await owner`delete from graphile_worker._private_jobs`;
  await owner`delete from graphile_worker._private_known_crontabs`;
  lines.splice(0);
});
afterAll(async () => {
  await postgres.close();
  await owner.end({ timeout: 5 });
  await server.close();
});

async function work(tasks: Record<string, Task>, crontab: CronEntry[] = []): Promise<JobWorker> {
  const worker = await jobs.work(tasks, crontab);
  workers.push(worker);
  return worker;
}

const job = (n: number, more: Partial<NewJob> = {}): NewJob => {
  return { task: 'note', payload: { n }, max_attempts: 3, ...more };
};

/** A task that records its payloads. */
function notes() {
  const seen: unknown[] = [];
  const note: Task = async (payload) => void seen.push(payload);
  return { seen, note };
}

/** Resolves when `count` attempts had this outcome; fails when there were more. */
async function outcomes(task: string, outcome: string, count: number): Promise<void> {
  await until(`${count} attempts at ${task} are ${outcome}`, async (saw) => {
    const { values } = saw(await metrics.jobs.get());
    const value = values.find(({ labels }) => labels.task === task && labels.outcome === outcome)?.value ?? 0;
    if (value > count) throw new Error(`${value} attempts`);
    return value === count;
  });
}

const waiting = () => owner<
  { task: string; attempts: number; locked_by: string | null; last_error: string | null }[]
>`
  select task_identifier as task, attempts, locked_by, last_error from graphile_worker.jobs order by id`;

it('each job runs once, added in or outside a transaction; a job of a rolled-back transaction does not run', async () => {
  const { seen, note } = notes();
  await jobs.add(postgres.service, job(1));
  await postgres.service.begin((tx) => jobs.add(tx, job(2)));
  // The API role, which row-level security binds to a tenant, may add jobs but not read them.
  await postgres.asTenant(TENANT, (tx) => jobs.add(tx, job(3)));
  await expect(postgres.asTenant(TENANT, (tx) => tx`select * from graphile_worker.jobs`)).rejects.toThrow(
    'denied',
  );
  const undone = postgres.service.begin(async (tx) => {
    await jobs.add(tx, job(4));
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await work({ note });
  await until('they are done', async (saw) => saw((await waiting()).length) === 0);
  expect(seen).toHaveLength(3);
  expect(seen).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }, { n: 3 }]));

  // A job that is added while the worker runs.
  await jobs.add(postgres.service, job(5));
  await until('it is done', async (saw) => saw(seen.length) === 4);
});

it('a job scheduled for later waits; a job with the same key replaces it', async () => {
  const { seen, note } = notes();
  const run_at = new Date(Date.now() + 3_600_000);
  await jobs.add(postgres.service, job(1, { run_at, job_key: 'k' }));
  await jobs.add(postgres.service, job(2, { run_at, job_key: 'other' }));
  await jobs.add(postgres.service, job(3, { job_key: 'k' }));
  await work({ note });
  await until('the one of now is done', async (saw) => saw((await waiting()).length) === 1);
  expect(seen).toEqual([{ n: 3 }]);
  expect(await waiting()).toMatchObject([{ task: 'note', attempts: 0 }]);
});

it('jobs of one queue run one after the other', async () => {
  let running = 0;
  let most = 0;
  let done = 0;
  const slow: Task = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running--;
    done++;
  };
  for (let n = 0; n < 3; n++) await jobs.add(postgres.service, job(n, { task: 'slow', queue: 'q' }));
  await work({ slow });
  await until('all are done', async (saw) => saw(done) === 3);
  expect(most).toBe(1);
});

it('a failed job is retried later, up to max_attempts; log and metrics report each failure', async () => {
  const fail: Task = async () => {
    throw Object.assign(new Error('no luck', { cause: new Error('the weather') }), { code: 'LUCK' });
  };
  await jobs.add(postgres.service, job(1, { task: 'fail', max_attempts: 2 }));
  await work({ fail });
  await outcomes('fail', 'failed', 1);
  // The rows of the moment in which it is put back: later it is tried again.
  const put_back = await until('it is put back', async (saw) => {
    const rows = saw(await waiting());
    return rows[0]?.locked_by === null ? rows : undefined;
  });
  expect(put_back).toMatchObject([{ attempts: 1, last_error: 'no luck' }]);
  const failed = lines.find(({ msg }) => msg === 'job failed; it is tried again later');
  expect(failed).toMatchObject({ level: 40, task: 'fail', attempt: 1, max_attempts: 2 });
  expect(failed).toMatchObject({ err: { code: 'LUCK', message: 'no luck: the weather' } });

  await owner`update graphile_worker._private_jobs set run_at = now()`;
  await outcomes('fail', 'given_up', 1);
  expect(lines.find(({ msg }) => msg === 'job failed; it is not tried again')).toMatchObject({
    level: 50,
    attempt: 2,
  });
  // The library would log a third line; its own logging of failures is suppressed.
  expect(lines.filter((line) => JSON.stringify(line).includes('no luck'))).toHaveLength(2);
  await until('it is put back', async (saw) => saw((await waiting())[0]?.locked_by) === null);
  await owner`update graphile_worker._private_jobs set run_at = now()`;
  const { seen, note } = notes();
  await jobs.add(postgres.service, job(2));
  await work({ note });
  await until('another one is done', async (saw) => saw(seen.length) > 0);
  await outcomes('fail', 'given_up', 1);
});

it('closing waits for the running job; a job that does not end is aborted and another worker runs it again', async () => {
  const ended: string[] = [];
  const started: string[] = [];
  const brief: Task = async (_payload, stop) => {
    started.push('brief');
    await new Promise((resolve) => setTimeout(resolve, 100));
    ended.push(`brief ${stop.aborted}`);
  };
  const endless: Task = async (_payload, stop) => {
    started.push('endless');
    await new Promise((_resolve, reject) =>
      stop.addEventListener('abort', () => reject(new Error('told to stop'))),
    );
  };
  await jobs.add(postgres.service, job(1, { task: 'brief' }));
  await jobs.add(postgres.service, job(2, { task: 'endless' }));
  const worker = await work({ brief, endless });
  await until('they have started', (saw) => saw(started.length) === 2);
  await worker.close();
  expect(ended).toEqual(['brief false']);
  expect(await waiting()).toMatchObject([
    { task: 'endless', attempts: 1, locked_by: null, last_error: 'told to stop' },
  ]);
  const sessions = () =>
    owner`
      select from pg_stat_activity
      where datname = current_database() and application_name ~ '^engagement (jobs|worker)'`;
  await until('no session is left', async (saw) => saw((await sessions()).length) === 0);

  await owner`update graphile_worker._private_jobs set run_at = now()`;
  const done: Task = async () => void ended.push('endless');
  await work({ endless: done });
  await until('it is done', async (saw) => saw(ended.length) === 2);
});

it('the jobs and the queue of a dead worker are freed; those of a live worker are not', async () => {
  const { seen, note } = notes();
  let held = 0;
  let release = () => undefined as void;
  const hold: Task = async () => {
    held++;
    await new Promise<void>((resolve) => (release = resolve));
  };
  await work({ hold });
  await jobs.add(postgres.service, job(0, { task: 'hold' }));
  await until('it is under way', async (saw) => saw(held) === 1);

  await jobs.add(postgres.service, job(1, { queue: 'dead' }));
  await jobs.add(postgres.service, job(2, { queue: 'dead' }));
  const [first] = await owner`
    update graphile_worker._private_jobs set locked_by = 'pool-dead', attempts = 1
    where id = (select min(id) from graphile_worker._private_jobs where job_queue_id is not null) returning id`;
  expect(first).toBeDefined();
  await owner`update graphile_worker._private_job_queues set locked_by = 'pool-dead' where queue_name = 'dead'`;
  for (const table of ['_private_jobs', '_private_job_queues']) {
    await owner`update graphile_worker.${owner(table)} set locked_at = now() where locked_by = 'pool-dead'`;
  }
  await work({ note, hold });
  await until('the jobs of the dead are done', async (saw) => saw(seen.length) === 2);
  expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
  expect(held).toBe(1);
  expect(lines.find(({ msg }) => msg === 'freed the jobs of workers that died')).toMatchObject({
    workers: ['pool-dead'],
  });
  release();
  await until('nothing is left', async (saw) => saw((await waiting()).length) === 0);
});

it('a worker that lost its connections goes on working', async () => {
  const { seen, note } = notes();
  await work({ note });
  await jobs.add(postgres.service, job(1));
  await until('one is done', async (saw) => saw(seen.length) === 1);
  // It runs its first jobs before it listens.
  await until('a connection of it listens', async (saw) => {
    const listening = await owner`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'engagement jobs' and query like 'LISTEN %'`;
    return saw(listening.length) === 1;
  });
  const cut = await owner`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name ~ '^engagement (jobs|worker)'`;
  expect(cut.length).toBeGreaterThan(1);
  await jobs.add(postgres.service, job(2));
  await until('another one is done', async (saw) => saw(seen.length) === 2);
});

it('a worker that stops by itself is started again', async () => {
  const { seen, note } = notes();
  await work({ note });
  await jobs.add(postgres.service, job(1));
  await until('one is done', async (saw) => saw(seen.length) === 1);
  const hasEnded = () => lines.some(({ msg }) => String(msg).includes('ended by itself'));
  await until('it has ended', async () => {
    if (hasEnded()) return true;
    // A newer version of the library sends this notification when it changes the schema, and older workers stop. The
    // test repeats it until the worker reacts, because a worker runs its first jobs before it listens.
    await owner`select pg_notify('worker:migrate', '{"migrationNumber":99,"breaking":true}')`;
    return undefined;
  });
  process.exitCode = undefined;
  await jobs.add(postgres.service, job(2));
  await until('another one is done', async (saw) => saw(seen.length) === 2);
});

it('the crontab adds the jobs that are due, and those missed while no worker ran, once for all workers', async () => {
  const { seen, note } = notes();
  const HOUR_MS = 3_600_000;
  const entry = (identifier: string, n: number, match: string, backfill_ms: number): CronEntry => {
    return { identifier, match, backfill_ms, job: job(n, { job_key: identifier }) };
  };
  const crontab = [
    // Half an hour ago, so that it is not due once more while the test runs.
    entry('every hour', 1, `${(new Date().getUTCMinutes() + 30) % 60} * * * *`, HOUR_MS),
    entry('no backfill', 2, '* * * * *', 0),
    entry('unheard of', 3, '* * * * *', HOUR_MS),
  ];
  await owner`
    insert into graphile_worker._private_known_crontabs (identifier, known_since)
    values ('every hour', now() - interval '1 day'), ('no backfill', now() - interval '1 day')`;
  const elsewhere = openJobs({ url: server.url, logger, metrics });
  workers.push(await elsewhere.work({ note }, crontab));
  await work({ note }, crontab);
  await until('the missed one is done', async (saw) => saw(seen.length) > 0);
  // The payload does not depend on which worker added the job. If a minute passes meanwhile, the other two are added.
  expect(seen[0]).toEqual({ n: 1 });
  const known = () => owner`
    select identifier from graphile_worker._private_known_crontabs order by identifier`;
  await until('all are known', async (saw) => saw((await known()).length) === 3);
  expect(seen.filter((payload) => (payload as { n: number }).n === 1)).toHaveLength(1);
});

it('refuses to start without Postgres', async () => {
  const nowhere = openJobs({ url: 'postgres://nobody:x@127.0.0.1:1/none', logger, metrics });
  await expect(nowhere.work({}, [])).rejects.toThrow('ECONNREFUSED');
});
