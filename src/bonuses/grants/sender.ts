import { BackOff } from '../../platform/back-off.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { GrantAdmission } from './admission.ts';
import { attemptCall } from './attempt.ts';
import { conclude } from './conclude.ts';
import type { GrantRow } from './grant-row.ts';
import { CALL_MS } from './issue.ts';
import {
  claimGrants,
  hurryPutOff,
  selectWaitingLanes,
  type GrantLane,
  type WaitingLane,
} from './sender-queries.ts';

/** The parts of the platform that the sender uses. */
export interface SenderDeps extends Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger'> {
  platforms: Platforms;
}

/** Lanes that one look finds; further ones have their turn at the next look. */
const MAX_LANES = 1_000;
/**
 * Calls at the same time: in all, of one tenant, and of one lane. A slow platform holds the places of its lane, and a
 * tenant with many of them those of the tenant, and no others.
 */
const MAX_CALLS = 256;
const MAX_PER_TENANT = 64;
const MAX_PER_LANE = 16;
/** How often, after answers of its platform, a campaign's grants are looked for that were put off, and how many at once. */
const HURRY_PAUSE_MS = 1_000;
const MAX_HURRIED = 1_000;

/**
 * Calls platforms for grants that are due: intents that were not sent, grants whose outcome is not known, cancellations,
 * and bonuses that were accepted. A claim raises the number of calls and lets the grant come due again after the longest
 * time that a call may take, so a process that dies while it makes one leaves nothing to clean up: the next call asks for
 * the status first. No transaction is open while a platform is called.
 */
export class Sender {
  readonly #deps: SenderDeps;
  readonly #admission: GrantAdmission;
  /** Calls until they are concluded; they never reject. */
  readonly #calls = new Set<Promise<void>>();
  readonly #places = new CallPlaces();
  /** Campaigns whose grants were looked for a moment ago. */
  readonly #hurried = new BackOff(HURRY_PAUSE_MS);
  #after: WaitingLane | undefined;
  /** The lane that was given places last. */
  #served: string | undefined;
  /** At the last look more was due than had a place. */
  #is_crowded = false;
  /** Called when a place is free for which a call may be waiting. */
  onFree: () => void = () => undefined;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    this.#admission = new GrantAdmission(deps);
  }

  /** Begins the calls that are due and have a place; true when there was one. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const lanes = await selectWaitingLanes(postgres.service, this.#after, MAX_LANES);
    this.#after = lanes.length === MAX_LANES ? lanes.at(-1) : undefined;
    const now = new Date(clock.now_ms());
    let has_begun = false;
    this.#is_crowded = false;
    for (const lane of fromNext(lanes, this.#served)) {
      if (lane.is_paused || lane.next_at > now || stop?.aborted === true) continue;
      const places = this.#places.freeOf(lane);
      if (places <= 0) this.#is_crowded = true;
      if (places <= 0) continue;
      const lost_at = new Date(now.getTime() + CALL_MS);
      const claimed = await claimGrants(postgres.service, lane, places, now, lost_at);
      if (claimed.length === 0) continue;
      has_begun = true;
      this.#served = keyOf(lane);
      for (const grant of claimed) this.#begin(lane, grant);
    }
    return has_begun;
  }

  /** Resolves when all calls are concluded. */
  async close(): Promise<void> {
    await Promise.all(this.#calls);
  }

  #begin(lane: GrantLane, grant: GrantRow): void {
    this.#places.take(lane);
    const call = this.#call(grant).then((was_made) => {
      this.#places.free(lane);
      this.#calls.delete(call);
      // A platform that takes no calls now would be asked about all that is due, one after the other.
      if (was_made && this.#is_crowded) this.onFree();
    });
    this.#calls.add(call);
  }

  /** The platform has answered: what it has put off of the campaign does not wait for its whole pause. Never rejects. */
  async #hurry({ tenant_id, project_id, campaign_id }: GrantRow): Promise<void> {
    if (campaign_id === null || this.#hurried.has(campaign_id)) return;
    this.#hurried.begin(campaign_id);
    const { postgres, logger } = this.#deps;
    await hurryPutOff(postgres.service, { tenant_id, project_id, campaign_id }, MAX_HURRIED).catch(
      (err: unknown) => logger.warn({ err, campaign_id }, 'grants that were put off could not be hurried'),
    );
  }

  /** Never rejects; whether the platform was called, or the grant has ended without. */
  async #call(grant: GrantRow): Promise<boolean> {
    const { clock, logger, postgres } = this.#deps;
    const { grant_id } = grant;
    try {
      const conclusion = await attemptCall(this.#deps, grant, () => this.#admission.lookAt(grant));
      await retryConflicts(() =>
        postgres.service.begin((tx) => conclude(tx, grant, conclusion, new Date(clock.now_ms()))),
      );
      if (conclusion.kind === 'report') await this.#hurry(grant);
      return conclusion.kind !== 'retry' || conclusion.is_made;
    } catch (error) {
      // It is claimed again once this claim is over, and then its status is asked for first.
      logger.error({ err: error, grant_id }, 'a call for a bonus grant could not be concluded');
      return false;
    }
  }
}

/** The places of calls, by lane and by tenant. */
export class CallPlaces {
  readonly #taken = new Map<string, number>();
  #count = 0;

  /** How many more calls of the lane may be made at once; no more than its platform takes at once, and in a second. */
  freeOf(lane: WaitingLane): number {
    const of = (key: string) => this.#taken.get(key) ?? 0;
    return Math.min(
      Math.min(MAX_PER_LANE, lane.most) - of(keyOf(lane)),
      MAX_PER_TENANT - of(lane.tenant_id),
      MAX_CALLS - this.#count,
    );
  }

  take(lane: GrantLane): void {
    this.#add(lane, 1);
  }

  free(lane: GrantLane): void {
    this.#add(lane, -1);
  }

  #add(lane: GrantLane, count: number): void {
    this.#count += count;
    for (const key of [keyOf(lane), lane.tenant_id]) {
      const taken = (this.#taken.get(key) ?? 0) + count;
      if (taken === 0) this.#taken.delete(key);
      else this.#taken.set(key, taken);
    }
  }
}

function keyOf({ tenant_id, project_id, adapter_slug }: GrantLane): string {
  return `${tenant_id} ${project_id} ${adapter_slug}`;
}

/** The lanes in their order, beginning after the one of this key: as long as places are scarce, each has its turn. */
export function fromNext<Lane extends GrantLane>(lanes: readonly Lane[], key: string | undefined): Lane[] {
  const next = lanes.findIndex((lane) => keyOf(lane) === key) + 1;
  return [...lanes.slice(next), ...lanes.slice(0, next)];
}
