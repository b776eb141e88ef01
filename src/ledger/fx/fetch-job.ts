import { z } from 'zod';
import type { CronEntry, Jobs, NewJob } from '../../platform/jobs/port.ts';
import type { OnTenantCreated } from '../../tenants/provision.ts';
import { fetchRates, type FetchDeps } from './fetch-rates.ts';
import { fetchRequest, RATE_KINDS, type FetchReport, type FetchRequest } from './schema.ts';

export const FETCH_TASK = 'fx-fetch';

/** For half an hour. */
const MAX_ATTEMPTS = 8;
/** Providers are asked by one job at a time. */
const QUEUE = 'fx-fetch';
const HOUR_MS = 3_600_000;
/** Whatever patience a provider asks for. */
const SHORTEST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 24 * HOUR_MS;

/**
 * Fiat rates at the turn of the day, and once more when central banks have published those of the day. Crypto prices every
 * hour, some minutes into it: by then they have been updated within it, and an hour's price is what its update says.
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

/** Has every rate of a new tenant fetched, by a job of the transaction that creates it. */
export function fetchRatesOfNewTenant(jobs: Pick<Jobs, 'add'>): OnTenantCreated {
  return (tx, tenant_id) => jobs.add(tx, fetchJob(tenant_id, { kinds: [...RATE_KINDS], tenant_id }));
}

function fetchJob(name: string, payload: FetchRequest): NewJob {
  return { task: FETCH_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key: `fx-fetch ${name}`, queue: QUEUE };
}

/** How often the fetch was put off because a provider asked for patience, besides what to fetch. */
const jobPayload = fetchRequest.extend({ postponed: z.int().min(0).default(0) });

/**
 * The same fetch, when the provider is willing to answer again. Each time has one attempt less, so that a provider that
 * never is ends the chain; a run of the crontab in the meantime takes its place.
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

/** Some provider failed; what others gave is stored. */
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
 * The task: rejects when a provider failed, so that it is asked again; where it said when to ask again, the fetch is
 * added for then instead.
 */
export async function runFetchJob(deps: JobDeps, payload: unknown, stop: AbortSignal): Promise<void> {
  const request = jobPayload.parse(payload);
  const { report, retry_after_ms } = await fetchRates(deps, request, stop);
  const { upserted, tenants, failures } = report;
  deps.logger.info({ upserted, tenants, failures: failures.length }, 'fetched exchange rates');
  if (failures.length === 0) return;
  if (retry_after_ms === 0 || request.postponed + 1 >= MAX_ATTEMPTS) throw new FetchIncomplete(failures);
  const pause_ms = Math.min(Math.max(retry_after_ms, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
  const run_at = new Date(deps.clock.now_ms() + pause_ms);
  await deps.jobs.add(deps.postgres.service, postponedFetch(request, run_at));
  deps.logger.warn({ run_at }, 'a provider of rates asked for patience; it is asked again then');
}
