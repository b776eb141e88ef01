import { v5 } from 'uuid';
import { BackOff } from '../../platform/back-off.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyEvent } from '../grants/apply.ts';
import type { GrantRef } from '../grants/grant-row.ts';
import { lockGrant } from '../grants/queries.ts';
import { selectCompleting, selectLiveWagering } from './completion-queries.ts';
import { lockGrants, type LockedGrant } from './count-queries.ts';
import { isMet } from './rules.ts';

/** The namespace of the ids of events by which this service completes wagering. */
const COMPLETED = 'e0f63f2a-5d8a-4a53-9a53-0a9b1d4f7f5c';

/** Grants that one turn of the sweep looks at. With a pause after each turn, the walk costs the same with any number of grants. */
const PAGE = 500;

/**
 * Completes those of the locked grants whose adapter leaves it to this service: active ones whose sum, as given, meets
 * what is to be wagered, unless the platform reports the wagering itself or is to cancel them.
 */
export async function completeMet(
  tx: Tx,
  project: ProjectRef,
  grants: readonly LockedGrant[],
  now: Date,
): Promise<void> {
  const met = grants.filter(
    ({ status, progress_source, cancel_requested_at, wagering_sum, wagering_required }) =>
      status === 'active' &&
      progress_source !== 'platform' &&
      cancel_requested_at === null &&
      isMet(wagering_sum, wagering_required),
  );
  if (met.length === 0) return;
  const slugs = [...new Set(met.map(({ adapter_slug }) => adapter_slug))];
  const completing = await selectCompleting(tx, project, slugs);
  for (const { grant_id, adapter_slug } of met) {
    if (!completing.has(adapter_slug)) continue;
    const row = await lockGrant(tx, { ...project, grant_id });
    if (row === undefined) continue;
    await applyEvent(tx, row, {
      event: { name: 'bonus.completed', at_ms: now.getTime() },
      source: 'api',
      event_id: v5(grant_id, COMPLETED),
      received_at: now,
      data: { wagered_subunit: row.wagering_progress, required_subunit: row.wagering_required },
    });
  }
}

type SweepDeps = Pick<Platform, 'postgres' | 'clock' | 'logger'>;

/**
 * Completes grants whose requirement became met without a bet: the platform has said what is to be wagered (winnings), has
 * lowered it, or its adapter leaves completion to this service by now.
 */
export class CompletionSweep {
  readonly #deps: SweepDeps;
  readonly #failed = new BackOff();
  #after = NIL_ID;

  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  /** Looks at the next page of live grants. A grant that fails does not stop the others. */
  async turn(): Promise<void> {
    const { postgres, logger } = this.#deps;
    const page = await selectLiveWagering(postgres.service, this.#after, PAGE);
    this.#after = page.length === PAGE ? (page.at(-1)?.grant_id ?? NIL_ID) : NIL_ID;
    const resting = new Set(this.#failed.keys());
    for (const { is_met, ...ref } of page) {
      if (!is_met || resting.has(ref.grant_id)) continue;
      try {
        await this.#complete(ref);
      } catch (error) {
        this.#failed.begin(ref.grant_id);
        logger.warn({ err: error, ...ref }, 'a bonus whose wagering is met could not be completed');
      }
    }
  }

  async #complete({ tenant_id, project_id, grant_id }: GrantRef): Promise<void> {
    const { postgres, clock } = this.#deps;
    const project = { tenant_id, project_id };
    const now = new Date(clock.now_ms());
    await retryConflicts(() =>
      postgres.service.begin(async (tx) =>
        completeMet(tx, project, await lockGrants(tx, project, [grant_id]), now),
      ),
    );
  }
}
