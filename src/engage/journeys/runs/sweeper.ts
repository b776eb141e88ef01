import { BoundedCache } from '../../../platform/bounded-cache.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Platform } from '../../../platform/platform.ts';
import { failClaimed } from './advance-batch.ts';
import { endRuns, MAX_ENDED } from './cancel.ts';
import { Definitions } from './definitions.ts';
import { notifyRunners } from './claim-queries.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { RunRef } from './run-row.ts';
import { walkRuns, type StuckRun } from './sweep-queries.ts';
import { insertTimers } from './write-queries.ts';

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;

/** Runs that are looked at per pass. */
const MAX_WALKED = 5_000;
/** Runs that were helped once; helping them again would not help. */
const MAX_HELPED = 10_000;

/** The code of a run that did not go on although its timer was set again. */
const STUCK = 'JOURNEY_STUCK';
/** The code of a run that has lasted too long, and how long that is. */
const TOO_OLD = 'JOURNEY_RUN_TOO_OLD';
const MAX_AGE_MS = 2 * 365 * 86_400_000;

/**
 * Walks over the running runs and sets timers that are missing, which should never happen. A run that is found again
 * where it was helped before fails with JOURNEY_STUCK, and one that began two years ago with JOURNEY_RUN_TOO_OLD.
 */
export class Sweeper {
  readonly #deps: Deps;
  readonly #definitions = new Definitions();
  /** run_id → the seq at which its timer was set again. */
  readonly #helped = new BoundedCache<string, number>({ max: MAX_HELPED });
  #after: RunRef | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Looks at the next 5,000 running runs; returns whether the walk goes on. */
  async turn(): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const oldest = new Date(clock.now_ms() - MAX_AGE_MS);
    const { stuck, too_old, last } = await walkRuns(postgres.service, this.#after, MAX_WALKED, oldest);
    this.#after = last;
    const again = stuck.filter(({ run_id, seq }) => this.#helped.get(run_id) === seq);
    const fresh = stuck.filter(({ run_id, seq }) => this.#helped.get(run_id) !== seq);
    if (fresh.length > 0) await this.#help(fresh);
    if (again.length > 0) await this.#fail(again);
    if (too_old.length > 0) await this.#endOld(too_old);
    return last !== undefined;
  }

  /** A timer that exists stays, and one that a claim is deleting is set again only if the claim ends without it. */
  async #help(runs: readonly StuckRun[]): Promise<void> {
    const { postgres, logger, metrics } = this.#deps;
    await retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        await insertTimers(tx, runs);
        await notifyRunners(tx);
      }),
    );
    for (const { run_id, seq } of runs) this.#helped.set(run_id, seq);
    metrics.journeyRunsStuck.inc({ outcome: 'helped' }, runs.length);
    logger.warn({ runs: runs.length }, 'runs had no timer: it is set again');
  }

  /** Ends runs with what is queued for them, up to 1,000 of one project at a time. */
  async #endOld(runs: readonly RunRef[]): Promise<void> {
    const { postgres, clock, logger, metrics } = this.#deps;
    for (const { tenant_id, project_id, run_ids } of batchesOf(runs)) {
      const now = new Date(clock.now_ms());
      const ending = { cancelled_by: undefined, error_code: TOO_OLD, now, limit: MAX_ENDED };
      const ended = await retryConflicts(() =>
        postgres.service.begin((tx) => endRuns(tx, { tenant_id, project_id, run_ids }, ending)),
      );
      metrics.journeyRunsMoved.inc({ outcome: 'failed' }, ended);
      const found = { tenant_id, project_id, runs: ended, first: run_ids[0] };
      logger.warn(found, 'runs began two years ago and have failed');
    }
  }

  async #fail(runs: readonly StuckRun[]): Promise<void> {
    const { postgres, clock, logger, metrics } = this.#deps;
    const failed = await retryConflicts(() =>
      postgres.service.begin((tx) => failClaimed(tx, runs, { definitions: this.#definitions, clock }, STUCK)),
    );
    metrics.journeyRunsStuck.inc({ outcome: 'failed' }, failed);
    logger.error({ runs: failed, first: runs[0]?.run_id }, 'runs did not go on and have failed');
  }
}

/** Runs that are ordered by project, in batches of one project each. */
function batchesOf(runs: readonly RunRef[]): (ProjectRef & { run_ids: string[] })[] {
  const batches: (ProjectRef & { run_ids: string[] })[] = [];
  for (const { tenant_id, project_id, run_id } of runs) {
    const last = batches.at(-1);
    if (last?.project_id === project_id && last.run_ids.length < MAX_ENDED) last.run_ids.push(run_id);
    else batches.push({ tenant_id, project_id, run_ids: [run_id] });
  }
  return batches;
}
