import { BackOff } from '../../platform/back-off.ts';
import { CallQueue } from '../../platform/call-queue/call-queue.ts';
import type { LaneRules, LaneVerdict } from '../../platform/call-queue/lanes.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Turned } from '../../platform/poll-loop.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { GrantAdmission } from './admission.ts';
import { attemptCall } from './calls.ts';
import { conclude } from './conclude.ts';
import type { GrantRow } from './grant-row.ts';
import { CALL_MS } from './issue.ts';
import { claimGrants, retryEarly, selectWaitingLanes, type GrantLane } from './call-queries.ts';

/** The parts of the platform that the sender uses. */
export interface SenderDeps extends Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics'> {
  platforms: Platforms;
}

/** How often, after answers of its platform, a campaign's grants are looked for that may be tried early, and how many at once. */
const EARLY_PAUSE_MS = 1_000;
const MAX_EARLY = 1_000;

/** A slow platform holds the places of its lane, and a tenant with many of them those of the tenant. */
export const GRANT_LANES: LaneRules<GrantLane> = {
  keyOf: ({ tenant_id, project_id, adapter_slug }) => `${tenant_id} ${project_id} ${adapter_slug}`,
  sharesOf: ({ tenant_id }) => [tenant_id],
};

/**
 * Calls platforms for grants that are due ({@link CallQueue}): intents that were not sent, grants whose outcome is not
 * known, cancellations, and bonuses that were accepted. After a call that counts as lost the status is asked for first.
 */
export class Sender {
  readonly #deps: SenderDeps;
  readonly #admission: GrantAdmission;
  readonly #queue: CallQueue<GrantLane, GrantRow>;
  /** Campaigns whose grants were looked for a moment ago. */
  readonly #looked: BackOff;

  /** `onFree`: a place is free for which a call may be waiting. */
  constructor(deps: SenderDeps, onFree?: () => void) {
    this.#deps = deps;
    this.#looked = new BackOff(EARLY_PAUSE_MS, deps.clock);
    this.#admission = new GrantAdmission(deps);
    this.#queue = new CallQueue(
      deps.clock,
      {
        ...GRANT_LANES,
        find: (after, limit) => selectWaitingLanes(deps.postgres.service, after, limit),
        claim: (lanes) => this.#claim(lanes),
        call: (grant) => this.#call(grant),
      },
      onFree,
    );
  }

  /** Begins the calls that are due and have a place: see {@link CallQueue}. */
  turn(stop?: AbortSignal): Promise<Turned> {
    return this.#queue.turn(stop);
  }

  /** Resolves when all calls are concluded. */
  close(): Promise<void> {
    return this.#queue.close();
  }

  async *#claim(lanes: readonly (GrantLane & { places: number })[]): AsyncGenerator<GrantRow[]> {
    const { postgres, clock, logger } = this.#deps;
    let failure: unknown;
    for (const lane of lanes) {
      // A claim before may have taken long.
      const now = new Date(clock.now_ms());
      const lost_at = new Date(now.getTime() + CALL_MS);
      yield await claimGrants(postgres.service, lane, lane.places, now, lost_at).catch((err: unknown) => {
        const { project_id, adapter_slug } = lane;
        logger.warn({ err, project_id, adapter_slug }, 'grants could not be claimed; they stay due');
        failure ??= err;
        return [];
      });
    }
    // Others have had their turns: the loop pauses longer each time.
    if (failure !== undefined) throw failure;
  }

  /** The platform has answered: others of the campaign do not wait for their whole pauses. Never rejects. */
  async #retryEarly({ tenant_id, project_id, campaign_id }: GrantRow): Promise<void> {
    if (campaign_id === null || this.#looked.has(campaign_id)) return;
    this.#looked.begin(campaign_id);
    const { postgres, logger } = this.#deps;
    await retryEarly(postgres.service, { tenant_id, project_id, campaign_id }, MAX_EARLY).catch(
      (err: unknown) => logger.warn({ err, campaign_id }, 'grants that wait could not be tried early'),
    );
  }

  /** Never rejects. */
  async #call(grant: GrantRow): Promise<LaneVerdict> {
    const { clock, logger, postgres } = this.#deps;
    const { grant_id } = grant;
    try {
      const conclusion = await attemptCall(this.#deps, grant, () => this.#admission.lookAt(grant));
      await retryConflicts(() =>
        postgres.service.begin((tx) => conclude(tx, grant, conclusion, new Date(clock.now_ms()))),
      );
      if (conclusion.kind === 'report') await this.#retryEarly(grant);
      return conclusion.kind === 'retry' && !conclusion.is_made ? 'not_made' : 'answered';
    } catch (error) {
      // It is claimed again once this claim is over, and then its status is asked for first.
      logger.error({ err: error, grant_id }, 'a call for a bonus grant could not be concluded');
      return 'not_made';
    }
  }
}
