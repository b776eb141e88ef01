import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Platform } from '../../../platform/platform.ts';
import {
  archiveRuns,
  countCopiedSteps,
  removeOldVersions,
  runKey,
  selectOldRuns,
  type OldRun,
} from './archive-queries.ts';

/** How long Postgres keeps the steps of a run that has ended, and a version after another one was published. */
const RETENTION_MS = 90 * 86_400_000;
/** Runs, or versions, per transaction: a fraction of a second. */
const MAX_RUNS = 500;
const MAX_VERSIONS = 20;

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/**
 * Removes from Postgres the steps of runs that ended over 90 days ago, which ClickHouse keeps, and versions that nobody
 * uses. Steps that ClickHouse does not have stay until the next time.
 */
export async function cleanUpJourneys(deps: Deps, stop?: AbortSignal): Promise<void> {
  const before = new Date(deps.clock.now_ms() - RETENTION_MS);
  const { archived, kept } = await archiveOldRuns(deps, before, stop);
  let versions = 0;
  for (let full = true; full;) {
    stop?.throwIfAborted();
    const removed = await deps.postgres.service.begin((tx) => removeOldVersions(tx, before, MAX_VERSIONS));
    versions += removed;
    full = removed === MAX_VERSIONS;
  }
  const found = { archived, kept, versions };
  deps.logger.info(found, 'removed steps of old runs and unused versions of journeys');
  if (kept > 0) deps.logger.warn({ runs: kept }, 'ClickHouse lacks steps of old runs: run reconcile');
}

async function archiveOldRuns(
  { postgres, clickhouse }: Deps,
  before: Date,
  stop?: AbortSignal,
): Promise<{ archived: number; kept: number }> {
  const counts = { archived: 0, kept: 0 };
  for (let after: OldRun | undefined, full = true; full;) {
    stop?.throwIfAborted();
    const page: OldRun[] = await selectOldRuns(postgres.service, before, after, MAX_RUNS);
    const copied = page.length === 0 ? new Map<string, number>() : await countCopiedSteps(clickhouse, page);
    const safe = page.filter((run) => (copied.get(runKey(run)) ?? 0) >= run.steps);
    if (safe.length > 0) {
      counts.archived += await retryConflicts(() => postgres.service.begin((tx) => archiveRuns(tx, safe)));
    }
    counts.kept += page.length - safe.length;
    after = page.at(-1);
    full = page.length === MAX_RUNS;
  }
  return counts;
}
