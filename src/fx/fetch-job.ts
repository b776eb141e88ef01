import type { CronEntry, NewJob } from '../platform/jobs/port.ts';
import { fetchRates, type FetchDeps } from './fetch-rates.ts';
import { fetchRequest, RATE_KINDS, type FetchReport, type FetchRequest } from './schema.ts';

export const FETCH_TASK = 'fx-fetch';

/** For half an hour. */
const MAX_ATTEMPTS = 8;
/** Providers are asked by one job at a time. */
const QUEUE = 'fx-fetch';
const HOUR_MS = 3_600_000;

/** Fiat rates once a day, crypto prices every hour. */
export const FETCH_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'fx-fetch fiat',
    match: '0 0 * * *',
    backfill_ms: 24 * HOUR_MS,
    job: fetchJob('fiat', { kinds: ['fiat'] }),
  },
  {
    identifier: 'fx-fetch crypto',
    match: '0 * * * *',
    backfill_ms: HOUR_MS,
    job: fetchJob('crypto', { kinds: ['crypto'] }),
  },
];

/** Fetches every rate of a tenant that is new. */
export function firstFetch(tenant_id: string): NewJob {
  return fetchJob(tenant_id, { kinds: [...RATE_KINDS], tenant_id });
}

function fetchJob(name: string, payload: FetchRequest): NewJob {
  return { task: FETCH_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key: `fx-fetch ${name}`, queue: QUEUE };
}

/** Some provider failed; what others gave is stored. */
class FetchIncomplete extends Error {
  override readonly name = 'FetchIncomplete';
  readonly code = 'FX_PROVIDER_FAILED';

  constructor(failures: FetchReport['failures']) {
    super(failures.map(({ message }) => message).join('; '));
  }
}

/** The task: rejects when a provider failed, so that it is asked again. */
export async function runFetchJob(deps: FetchDeps, payload: unknown, stop: AbortSignal): Promise<void> {
  const { upserted, tenants, failures } = await fetchRates(deps, fetchRequest.parse(payload), stop);
  deps.logger.info({ upserted, tenants, failures: failures.length }, 'fetched exchange rates');
  if (failures.length > 0) throw new FetchIncomplete(failures);
}
