import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startScheduler } from '../../../processors/scheduler/index.ts';
import { ROLES } from '../../../src/config.ts';
import { runFetchJob } from '../../../src/ledger/fx/fetch-job.ts';
import { PROVIDER_DEFAULTS } from '../../../src/ledger/fx/rate-provider.ts';
import { FETCH_CRONTAB } from '../../../src/ledger/fx/fetch-job.ts';
import { packageRoot } from '../../../src/package-root.ts';
import type { JobWorker, NewJob } from '../../../src/platform/jobs/port.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { coingecko, frankfurter, json, startServer, type TestServer } from './provider-servers.ts';

// The three triggers of a fetch: the command, the scheduler, and a new tenant.

const run = promisify(execFile);

let service: TestService;
let fiat: TestServer;
let crypto: TestServer;
let scheduler: JobWorker | undefined;

beforeAll(async () => {
  fiat = await startServer(json('{}'));
  crypto = await startServer(json('{}'));
  working();
  // Tests start the scheduler themselves.
  const roles = new Set(ROLES.filter((role) => role !== 'scheduler'));
  service = await startTestService({ roles, fx: { fiat_url: fiat.url, crypto_url: crypto.url } });
});
afterEach(async () => {
  await scheduler?.close();
  scheduler = undefined;
  working();
});
afterAll(async () => {
  await service.close();
  await Promise.all([fiat.close(), crypto.close()]);
});

function working(): void {
  fiat.handle = frankfurter('2026-02-27', { EUR: { SEK: '11.02', USD: '1.10' } });
  crypto.handle = coingecko(1_772_286_431, { bitcoin: { eur: '57000.12' } });
}

async function schedule(): Promise<void> {
  const urls = { fiat_url: fiat.url, crypto_url: crypto.url };
  scheduler = await startScheduler(service.platform, urls, () => Promise.reject(new Error('no bonuses')), {
    dependents: [],
    erasers: [],
    erasure_key: Buffer.alloc(32),
    files: [],
    credentials_keys: { current: '00'.repeat(32), previous: undefined },
  });
}

const sql = () => service.platform.postgres.service;

async function sourcesOf(tenant_id: string): Promise<string[]> {
  const rows = await sql()<{ source: string }[]>`
    select distinct source from fx_rates where tenant_id = ${tenant_id} order by source`;
  return rows.map(({ source }) => source);
}

const BOTH = ['coingecko', 'frankfurter'];

async function fetched(tenant_id: string): Promise<void> {
  await until(
    'both kinds are there',
    async (saw) => saw((await sourcesOf(tenant_id)).length) === BOTH.length,
  );
}

/** Runs as the owner of the database, because only the owner may read the schema of the jobs. */
async function asOwner<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql().begin(async (tx) => {
    await tx`set local role none`;
    return work(tx);
  }) as Promise<T>;
}

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function command(file: string, ...args: string[]): Promise<Ended> {
  const where = ['--base-url', service.base_url, '--internal-secret', service.internal_secret];
  try {
    return { code: 0, ...(await run(file, [...args, ...where], { cwd: packageRoot })) };
  } catch (error) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}

const fxFetch = (...args: string[]) => command('node', join('dist', 'scripts', 'fx-fetch.js'), ...args);

it('the command prints one JSON line', async () => {
  const { code, stdout, stderr } = await fxFetch();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe('{"event":"fx-fetch-summary","upserted":3,"tenants":1}\n');
  expect(await sourcesOf(service.tenant_id)).toEqual(BOTH);

  const npm = await command('npm', 'run', '--silent', 'fx-fetch', '--', '--kind', 'crypto');
  expect(npm).toMatchObject({ code: 0, stdout: '{"event":"fx-fetch-summary","upserted":1,"tenants":1}\n' });
}, 120_000);

it('the command prints the line even when a provider failed, and reports the failure', async () => {
  crypto.handle = json('{}', 404);
  const failed = await fxFetch('--tenant-id', service.tenant_id);
  expect(failed.code).toBe(1);
  expect(failed.stdout).toBe('{"event":"fx-fetch-summary","upserted":2,"tenants":1}\n');
  expect(failed.stderr).toMatch(
    /^coingecko: GET http.*\/api\/v3\/simple\/price\?.* was answered with 404, attempt 1\n$/,
  );
});

it('the command stores a file of rates, with a verdict for each line, and again changes nothing', async () => {
  const { tenant_id } = await service.newTenant('EUR');
  const folder = await mkdtemp(join(tmpdir(), 'engagement-rates-'));
  const file = join(folder, 'rates.csv');
  try {
    const days = Array.from({ length: 501 }, (_, day) => new Date(day * 86_400_000).toISOString());
    const lines = days.map((ts) => `EUR,SEK,${ts},11.25`);
    await writeFile(
      file,
      ['\uFEFFbase,quote,ts,rate', ...lines, '', 'EUR,SEK', 'SEK,EUR,2024-01-31T00:00:00Z,0.1'].join('\r\n'),
    );
    const first = await fxFetch('--file', file, '--tenant-id', tenant_id);
    expect(first.stdout).toBe(
      '{"event":"fx-fetch-summary","upserted":501,"tenants":1,"known":0,"refused":2}\n',
    );
    expect(first.code).toBe(1);
    const verdicts = first.stderr.trimEnd().split('\n');
    expect([verdicts.length, verdicts[0]]).toEqual([503, 'line 2: stored']);
    expect(verdicts).toContain('line 504: refused: a line has base,quote,ts,rate');
    expect(verdicts.at(-1)).toMatch(/^line 505: refused: base: rates are kept/);
    const again = await fxFetch('--file', file, '--tenant-id', tenant_id);
    expect(again.stdout).toContain('"upserted":0,"tenants":1,"known":501,"refused":2}');
    const [stored] = await sql()<{ n: number }[]>`
      select count(*)::integer as n from fx_rates where tenant_id = ${tenant_id}`;
    expect(stored?.n).toBe(501);
    expect((await fxFetch('--file', file)).stderr).toContain('--file needs --tenant-id');
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each([
  ['a tenant that is none', ['--tenant-id', '00000000-0000-4000-8000-000000000000'], /^TENANT_NOT_FOUND: /],
  ['a kind that is none', ['--kind', 'gold'], /^VALIDATION_ERROR: kinds\.0/],
  ['a date that is none', ['--since', 'May'], /^VALIDATION_ERROR: since/],
  ['a flag that is none', ['--all'], /Unknown option '--all'/],
])('the command refuses %s', async (_what, args, message) => {
  const refused = await fxFetch(...args);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(message);
});

it('a new tenant gets its rates from the scheduler, and none without it', async () => {
  const { tenant_id } = await service.newTenant('EUR');
  expect(await sourcesOf(tenant_id)).toEqual([]);
  await schedule();
  await fetched(tenant_id);
  const next = await service.newTenant('EUR');
  await fetched(next.tenant_id);
  expect(fiat.requests.at(-1)).toMatch(/^\/v1\/latest\?base=EUR&symbols=AED,/);
});

it('the crontab fetches both kinds, and repeats a fetch that was missed', async () => {
  await schedule();
  await fetched(service.tenant_id);
  const known = () =>
    asOwner(
      (tx) => tx<{ identifier: string }[]>`
    select identifier from graphile_worker._private_known_crontabs where identifier like 'fx-fetch %'`,
    );
  await until('the crontab is known', async (saw) => saw((await known()).length) === FETCH_CRONTAB.length);
  await scheduler?.close();
  // As if no worker had run for 25 hours.
  await asOwner(
    (tx) => tx`
    update graphile_worker._private_known_crontabs
    set known_since = now() - interval '2 days', last_execution = now() - interval '25 hours'`,
  );
  await sql()`delete from fx_rates`;
  await schedule();
  await fetched(service.tenant_id);
});

it('a failed fetch is retried', async () => {
  fiat.handle = json('{}', 403);
  await schedule();
  const { tenant_id } = await service.newTenant('EUR');
  // The job of this tenant: at 15:30 and at 0:00 UTC the crontab adds one that fails as well.
  const waiting = () =>
    asOwner(
      (tx) => tx<{ attempts: number; max_attempts: number; last_error: string }[]>`
    select attempts, max_attempts, last_error from graphile_worker.jobs
    where locked_at is null and attempts > 0 and key = ${`fx-fetch ${tenant_id}`}`,
    );
  // The rows of the moment after its failure: later it is tried again.
  const rows = await until('it failed', async (saw) => {
    const failed = saw(await waiting());
    return failed.length === 1 ? failed : undefined;
  });
  expect(rows).toMatchObject([{ attempts: 1, max_attempts: 8 }]);
  expect(rows[0]?.last_error).toContain('was answered with 403');
  expect(await sourcesOf(tenant_id)).toEqual(['coingecko']);
  expect(await service.platform.metrics.registry.metrics()).toMatch(
    /^jobs_total\{task="fx-fetch",outcome="failed"\} [1-9]/m,
  );
  working();
  await asOwner((tx) => tx`update graphile_worker._private_jobs set run_at = now()`);
  await fetched(tenant_id);
});

it('a provider that answers with Retry-After is left alone for that time', async () => {
  fiat.handle = (_request, response) => response.writeHead(429, { 'retry-after': '3600' }).end();
  const { tenant_id } = await service.newTenant('EUR');
  await schedule();
  const job = async () => {
    const rows = await asOwner(
      (tx) => tx<{ attempts: number; max_attempts: number; pause_s: number }[]>`
      select attempts, max_attempts, extract(epoch from run_at - now())::float8 as pause_s
      from graphile_worker.jobs where key = ${`fx-fetch ${tenant_id}`} and locked_at is null`,
    );
    return rows[0];
  };
  await until('it is put off', async (saw) => (saw((await job())?.pause_s) ?? 0) > 3_000);
  expect(await job()).toMatchObject({ attempts: 0, max_attempts: 7 });
  expect(await sourcesOf(tenant_id)).toEqual(['coingecko']);
  working();
  await asOwner((tx) => tx`update graphile_worker._private_jobs set run_at = now()`);
  await fetched(tenant_id);
});

it('the number of postponements is limited: the last postponed fetch fails', async () => {
  fiat.handle = (_request, response) => response.writeHead(503, { 'retry-after': '999999999' }).end();
  const added: NewJob[] = [];
  const deps = {
    ...service.platform,
    ...PROVIDER_DEFAULTS,
    urls: { fiat_url: fiat.url, crypto_url: crypto.url },
    jobs: { add: async (_sql: Tx, job: NewJob) => void added.push(job) },
  };
  const { signal } = new AbortController();
  let payload: unknown = { kinds: ['fiat'] };
  for (let left = 7; left >= 1; left--) {
    await runFetchJob(deps, payload, signal);
    const job = added.shift();
    expect(job).toMatchObject({ job_key: 'fx-fetch fiat', max_attempts: left });
    const pause_ms = (job?.run_at?.getTime() ?? 0) - Date.now();
    expect(pause_ms).toBeGreaterThan(23 * 3_600_000);
    expect(pause_ms).toBeLessThanOrEqual(24 * 3_600_000);
    payload = job?.payload;
  }
  await expect(runFetchJob(deps, payload, signal)).rejects.toThrow('was answered with 503');
  expect(added).toEqual([]);
});

it('only the owner can read jobs', async () => {
  await expect(sql()`select from graphile_worker.jobs`).rejects.toThrow('permission denied');
});
