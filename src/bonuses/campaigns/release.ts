import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { BackOff } from '../../platform/back-off.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { limitTransaction } from '../../platform/postgres/limits.ts';
import { isLockTimeout, retryConflicts } from '../../platform/postgres/retry.ts';
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
  type Waiting,
} from './release-queries.ts';
import { lockBeside, noteError } from './work-queries.ts';

/** The parts of the platform that releasing uses. */
export type ReleaseDeps = Pick<Platform, 'postgres' | 'clock' | 'logger'>;

const MAX_CAMPAIGNS = 1_000;
/** Campaigns whose grants are released at the same time. */
const AT_ONCE = 8;
/** The pause after a release: a fraction of the burst, so that no part of a rate is lost. */
const PACE_MS = 50;
/** How long a turn waits for campaigns that take longer than others. */
const TURN_MS = 200;
/** Released grants that wait for a call, at most. */
const MAX_WAITING = 512;
/** The longest statement of a release, and its longest wait for a lock: other campaigns have the template's row, too. */
const STATEMENT_MS = 1_000;
const LOCK_MS = 100;
/** How long a campaign rests that would have waited longer. */
const REST_MS = 100;

/**
 * Makes the grants of reserved members, of each campaign at its rate, and gives them to the sender with that. It asks
 * nothing but Postgres: what is reserved was promised, so it is sent although the template is paused meanwhile. Campaigns
 * are released beside each other, and no turn waits for one that takes long.
 */
export class CampaignRelease {
  readonly #deps: ReleaseDeps;
  readonly #back_off = new BackOff();
  readonly #resting = new BackOff(REST_MS);
  /** By campaign_id, what is under way; it never rejects. */
  readonly #running = new Map<string, Promise<void>>();
  /** Campaigns whose error this process has noted. */
  readonly #noted = new Set<string>();
  /** What the last turn has found and nobody has begun. */
  #open: ReleasingCampaign[] = [];
  #workers = 0;
  #has_released = false;
  #after = NIL_ID;
  /** The campaign that was begun last. */
  #served = NIL_ID;
  /** Called when the sender has something to do. */
  onReleased: () => void = () => undefined;

  constructor(deps: ReleaseDeps) {
    this.#deps = deps;
  }

  /** Releases what the rates of campaigns allow now; true, after a pause, when there was something. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const found = await selectReleasing(this.#deps.postgres.service, this.#after, MAX_CAMPAIGNS);
    this.#after = found.length === MAX_CAMPAIGNS ? (found.at(-1)?.campaign_id ?? NIL_ID) : NIL_ID;
    const left_out = new Set([...this.#back_off.keys(), ...this.#resting.keys(), ...this.#running.keys()]);
    const open = found.filter(({ campaign_id }) => !left_out.has(campaign_id));
    const next = open.findIndex(({ campaign_id }) => campaign_id > this.#served);
    this.#open = next < 0 ? open : [...open.slice(next), ...open.slice(0, next)];
    const workers: Promise<void>[] = [];
    while (this.#workers < AT_ONCE && this.#open.length > 0) workers.push(this.#work(stop));
    const over = new AbortController();
    await Promise.race([
      Promise.all(workers),
      sleep(TURN_MS, undefined, { signal: over.signal }).catch(() => undefined),
    ]);
    over.abort();
    if (!this.#has_released) return false;
    this.#has_released = false;
    this.onReleased();
    await sleep(PACE_MS, undefined, { signal: stop }).catch(() => undefined);
    return true;
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#open = [];
    await Promise.all(this.#running.values());
  }

  /** Releases one campaign after the other, also those that a later turn has found. Never rejects. */
  async #work(stop: AbortSignal | undefined): Promise<void> {
    this.#workers += 1;
    for (let one = this.#open.shift(); one !== undefined; one = this.#open.shift()) {
      if (stop?.aborted === true) break;
      const { campaign_id } = one;
      this.#served = campaign_id;
      const done = this.#try(one);
      this.#running.set(campaign_id, done);
      await done;
      this.#running.delete(campaign_id);
    }
    this.#workers -= 1;
  }

  /** Never rejects. */
  async #try(campaign: ReleasingCampaign): Promise<void> {
    const { campaign_id } = campaign;
    try {
      if ((await this.#release(campaign)) === 0) return;
      this.#has_released = true;
      if (this.#noted.delete(campaign_id)) await this.#note(campaign, null);
    } catch (error) {
      if (isLockTimeout(error)) {
        this.#resting.begin(campaign_id);
        return;
      }
      this.#back_off.begin(campaign_id);
      this.#deps.logger.warn({ err: error, campaign_id }, 'grants of a bonus campaign could not be released');
      if (!(error instanceof ApiError)) return;
      this.#noted.add(campaign_id);
      await this.#note(campaign, error.message);
    }
  }

  /** Shows in the campaign why it stands still. Never rejects. */
  async #note(campaign: ReleasingCampaign, message: string | null): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const { campaign_id } = campaign;
    await noteError(postgres.service, campaign, message, new Date(clock.now_ms())).catch((err: unknown) =>
      logger.warn({ err, campaign_id }, 'why a bonus campaign stands still could not be noted'),
    );
  }

  async #release(campaign: ReleasingCampaign): Promise<number> {
    const { postgres, clock } = this.#deps;
    const { rate_per_second } = campaign;
    const allowed = (released_to: Date, { waiting, due }: Waiting) => {
      const state = { now_ms: clock.now_ms(), released_to_ms: released_to.getTime(), waiting: due };
      return releasable(rate_per_second, { ...state, room: MAX_WAITING - waiting });
    };
    if (allowed(campaign.released_to, { waiting: 0, due: 0 }).count <= 0) return 0;
    // Before the campaign is locked: after a long outage there is much to read over.
    const counted = { most: MAX_WAITING, now: new Date(clock.now_ms()) };
    const waiting = await countWaiting(postgres.service, campaign, counted);
    if (allowed(campaign.released_to, waiting).count <= 0) return 0;
    return retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        await limitTransaction(tx, STATEMENT_MS, LOCK_MS);
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
