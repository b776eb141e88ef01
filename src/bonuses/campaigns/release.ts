import { setTimeout as sleep } from 'node:timers/promises';
import { BackOff } from '../../platform/back-off.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../wiring/platform.ts';
import type { BonusCampaignRef } from './queries.ts';
import { releaseMembers } from './release-members.ts';
import { nextShare, releasable } from './release-rate.ts';
import {
  countWaiting,
  noteReleased,
  selectReleasedTo,
  selectReleasing,
  type ReleasingCampaign,
} from './release-queries.ts';
import { lockBeside } from './work-queries.ts';

/** The parts of the platform that releasing uses. */
export type ReleaseDeps = Pick<Platform, 'postgres' | 'clock' | 'logger'>;

const MAX_CAMPAIGNS = 1_000;
/** Campaigns whose grants are released at the same time. */
const AT_ONCE = 8;
/** The pause after a release: a fraction of the burst, so that no part of a rate is lost. */
const PACE_MS = 50;
/** Released grants that wait for a call, at most. */
const MAX_WAITING = 512;

/**
 * Makes the grants of reserved members, of each campaign at its rate, and gives them to the sender with that. It asks
 * nothing but Postgres: what is reserved was promised, so it is sent although the template is paused meanwhile.
 */
export class CampaignRelease {
  readonly #deps: ReleaseDeps;
  readonly #back_off = new BackOff();
  #after = NIL_ID;
  /** Called when the sender has something to do. */
  onReleased: () => void = () => undefined;

  constructor(deps: ReleaseDeps) {
    this.#deps = deps;
  }

  /** Releases what the rates of campaigns allow now; true, after a pause, when there was something. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, logger } = this.#deps;
    const found = await selectReleasing(postgres.service, this.#after, MAX_CAMPAIGNS);
    this.#after = found.length === MAX_CAMPAIGNS ? (found.at(-1)?.campaign_id ?? NIL_ID) : NIL_ID;
    const resting = new Set(this.#back_off.keys());
    const open = found.filter(({ campaign_id }) => !resting.has(campaign_id));
    let has_released = false;
    const work = async () => {
      for (let one = open.shift(); one !== undefined; one = open.shift()) {
        if (stop?.aborted === true) return;
        const { campaign_id } = one;
        try {
          if ((await this.#release(one)) > 0) has_released = true;
        } catch (error) {
          this.#back_off.begin(campaign_id);
          logger.warn({ err: error, campaign_id }, 'grants of a bonus campaign could not be released');
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (!has_released) return false;
    this.onReleased();
    await sleep(PACE_MS, undefined, { signal: stop }).catch(() => undefined);
    return true;
  }

  async #release(campaign: ReleasingCampaign): Promise<number> {
    const { postgres, clock } = this.#deps;
    const { rate_per_second } = campaign;
    const allowed = (released_to: Date, waiting: number) => {
      const state = { now_ms: clock.now_ms(), released_to_ms: released_to.getTime(), waiting };
      return releasable(rate_per_second, { ...state, room: MAX_WAITING - waiting });
    };
    if (allowed(campaign.released_to, 0).count <= 0) return 0;
    // Before the campaign is locked: after a long outage there is much to read over.
    const waiting = await countWaiting(postgres.service, campaign, MAX_WAITING);
    if (allowed(campaign.released_to, waiting).count <= 0) return 0;
    return retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        const locked = await lockBeside(tx, campaign, 'release', false);
        if (locked === undefined) return 0;
        const { count, start_ms, each_ms } = allowed(await selectReleasedTo(tx, campaign), waiting);
        if (count <= 0) return 0;
        const now = new Date(clock.now_ms());
        const { released, skipped } = await releaseMembers(tx, locked, { limit: count, now, due_at: now });
        // Those who were skipped use nothing of the rate.
        if (released > 0)
          await noteReleased(tx, campaign, new Date(Math.ceil(start_ms + released * each_ms)));
        return released + skipped;
      }),
    );
  }
}

/**
 * Makes the grant of one reserved member of a campaign at once, for somebody who asks for its id: it is sent with the next
 * share of the rate. Nothing happens when the campaign is not being issued, the member is not reserved, or another
 * transaction holds the player.
 */
export async function releaseMember(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  ref: BonusCampaignRef,
  player_id: string,
): Promise<void> {
  await retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      const locked = await lockBeside(tx, ref, 'release', true);
      if (locked === undefined) return;
      const now_ms = clock.now_ms();
      const released_to_ms = (await selectReleasedTo(tx, ref)).getTime();
      const { due_ms, used_to_ms } = nextShare(locked.rate_per_second, { now_ms, released_to_ms });
      const at = { now: new Date(now_ms), due_at: new Date(Math.ceil(due_ms)) };
      const { released } = await releaseMembers(tx, locked, { limit: 1, only: player_id, ...at });
      if (released > 0) await noteReleased(tx, ref, new Date(Math.ceil(used_to_ms)));
    }),
  );
}
