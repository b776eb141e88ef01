import { z } from 'zod';
import type { CronEntry, Jobs, NewJob } from '../../platform/jobs/port.ts';
import type { OnTenantCreated } from '../../tenants/provision.ts';
import { fetchRates, type FetchDeps } from './fetch-rates.ts';
import { fetchRequest, RATE_KINDS, type FetchReport, type FetchRequest } from './schema.ts';

export const FETCH_TASK = 'fx-fetch';

/** With the back-off of the job queue, 8 attempts last for half an hour. */
const MAX_ATTEMPTS = 8;
/** One queue, so that only one job at a time calls the providers. */
const QUEUE = 'fx-fetch';
const HOUR_MS = 3_600_000;
/** Bounds of the pause before a postponed fetch, for any Retry-After that a provider sends. */
const SHORTEST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 24 * HOUR_MS;

/**
 * When rates are fetched, in UTC. Fiat: at midnight, and at 15:30, when central banks have published the rates of the
 * day. Crypto: every hour at minute 2. By then the provider has updated the prices within that hour, and the time of an
 * update decides to which hour a price belongs.
 */
export const FETCH_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'fx-fetch fiat',
    match: '0 0 * * *',
    backfill_ms: 24 * HOUR_MS,
    job: fetchJob('fiat', { kinds: ['fiat'] }),
  },
  {
    identifier: 'fx-fetch fiat of the day',
    match: '30 15 * * *',
    backfill_ms: 8 * HOUR_MS,
    job: fetchJob('fiat', { kinds: ['fiat'] }),
  },
  {
    identifier: 'fx-fetch crypto',
    match: '2 * * * *',
    backfill_ms: HOUR_MS,
    job: fetchJob('crypto', { kinds: ['crypto'] }),
  },
];

/** Adds a job that fetches all rates of a new tenant, in the transaction that creates the tenant. */
export function fetchRatesOfNewTenant(jobs: Pick<Jobs, 'add'>): OnTenantCreated {
  return (tx, tenant_id) => jobs.add(tx, fetchJob(tenant_id, { kinds: [...RATE_KINDS], tenant_id }));
}

function fetchJob(name: string, payload: FetchRequest): NewJob {
  return { task: FETCH_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key: `fx-fetch ${name}`, queue: QUEUE };
}

/** What to fetch, and how often the fetch was postponed because a provider sent Retry-After. */
const jobPayload = fetchRequest.extend({ postponed: z.int().min(0).default(0) });

/**
 * The same fetch as a job for a later time. Each postponed job has one attempt less, so the chain ends even when the
 * provider never answers. It has the job key of the crontab's job: a run of the crontab in the meantime replaces it.
 */
function postponedFetch({ postponed, ...request }: z.infer<typeof jobPayload>, run_at: Date): NewJob {
  const name = request.tenant_id ?? request.kinds.join('+');
  return {
    ...fetchJob(name, request),
    payload: { ...request, postponed: postponed + 1 },
    max_attempts: MAX_ATTEMPTS - postponed - 1,
    run_at,
  };
}

/** At least one provider failed; the rates of the others are stored. */
class FetchIncomplete extends Error {
  override readonly name = 'FetchIncomplete';
  readonly code = 'FX_PROVIDER_FAILED';

  constructor(failures: FetchReport['failures']) {
    super(failures.map(({ message }) => message).join('; '));
  }
}

interface JobDeps extends FetchDeps {
  jobs: Pick<Jobs, 'add'>;
}

/**
 * The task. Rejects when a provider failed, so that the job queue retries it. When a failed provider sent Retry-After,
 * a postponed fetch is added instead, and the task resolves.
 */
export async function runFetchJob(deps: JobDeps, payload: unknown, stop: AbortSignal): Promise<void> {
  const request = jobPayload.parse(payload);
  const { report, retry_after_ms } = await fetchRates(deps, request, { stop });
  const { upserted, tenants, failures } = report;
  deps.logger.info({ upserted, tenants, failures: failures.length }, 'fetched exchange rates');
  if (failures.length === 0) return;
  if (retry_after_ms === 0 || request.postponed + 1 >= MAX_ATTEMPTS) throw new FetchIncomplete(failures);
  const pause_ms = Math.min(Math.max(retry_after_ms, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
  const run_at = new Date(deps.clock.now_ms() + pause_ms);
  await deps.jobs.add(deps.postgres.service, postponedFetch(request, run_at));
  deps.logger.warn({ run_at }, 'a provider of rates sent Retry-After: the fetch is postponed');
}
