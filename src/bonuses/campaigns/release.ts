import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError } from '../../errors.ts';
import { BackOff } from '../../platform/back-off.ts';
import type { RoundRobin } from '../../platform/round-robin.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { limitTransaction } from '../../platform/postgres/limits.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { isLockTimeout, isStatementTimeout, retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BonusCampaignRef, BonusCampaignRow } from './queries.ts';
import { releaseMembers, type Released } from './release-members.ts';
import { nextShare, releasable } from './release-rate.ts';
import {
  countWaiting,
  noteReleased,
  resumePutOff,
  selectReleasedTo,
  selectReleasing,
  type ReleasingCampaign,
} from './release-queries.ts';
import { campaignQueue } from './work.ts';
import { lockPart, noteReleaseError } from './work-queries.ts';

/** The parts of the platform that releasing uses. */
export type ReleaseDeps = Pick<Platform, 'postgres' | 'clock' | 'logger'>;

const MAX_CAMPAIGNS = 1_000;
/** The pause after a release: a fraction of the burst, so that no part of a rate is lost. */
const PACE_MS = 50;
/** How long a turn waits for campaigns that take longer than others. */
const TURN_MS = 200;
/** Released grants that wait for a call, at most. */
const MAX_WAITING = 512;
/** The longest statement of a release, and its longest wait for a lock: other campaigns have the template's row, too. */
const STATEMENT_MS = 1_000;
const LOCK_MS = 100;
/** How long a campaign pauses that would have waited longer. */
const IDLE_MS = 100;
/** How often one of the grants that were put off is called before its time, where no other call is made. */
const PROBE_MS = 30_000;

/**
 * Makes the grants of reserved members, of each campaign at its rate, and gives them to the sender with that; and those of
 * which nothing was sent when they were called, at the same rate. It asks nothing but Postgres: what is reserved was
 * promised, so it is sent although the template is paused meanwhile. Several campaigns are released at a time, and no turn
 * waits for one that takes long.
 */
export class CampaignRelease {
  readonly #deps: ReleaseDeps;
  /** Campaigns of which a grant was called before its time. */
  readonly #probing: BackOff;
  readonly #queue: RoundRobin<ReleasingCampaign>;
  /** By campaign_id. */
  readonly #reached = new BoundedCache<string, ReleasePlace>({ max: MAX_CAMPAIGNS });
  #has_released = false;
  #after = NIL_ID;
  /** Called when the sender has something to do. */
  onReleased: () => void = () => undefined;

  constructor(deps: ReleaseDeps) {
    this.#deps = deps;
    // By the clock that the pauses of grants are measured by.
    this.#probing = new BackOff(PROBE_MS, deps.clock);
    this.#queue = campaignQueue(IDLE_MS, {
      onFailure: ({ campaign_id }, error) =>
        deps.logger.warn({ err: error, campaign_id }, 'grants of a bonus campaign could not be released'),
    });
  }

  /** Releases what the rates of campaigns allow now; true, after a pause, when there was something. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const now = new Date(clock.now_ms());
    const found = await selectReleasing(postgres.service, this.#after, MAX_CAMPAIGNS, now);
    this.#after = found.length === MAX_CAMPAIGNS ? (found.at(-1)?.campaign_id ?? NIL_ID) : NIL_ID;
    const over = new AbortController();
    await Promise.race([
      this.#queue.offer(found, (one) => this.#serve(one)),
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
  close(): Promise<void> {
    return this.#queue.close();
  }

  /** False when the campaign would have waited for long. */
  async #serve(campaign: ReleasingCampaign): Promise<boolean> {
    try {
      await this.#release(campaign);
      return true;
    } catch (error) {
      if (isLockTimeout(error) || error instanceof TooMany) return false;
      if (error instanceof ApiError) await this.#note(campaign, error.message);
      throw error;
    }
  }

  /** Shows in the campaign why nothing is released. Never rejects. */
  async #note(campaign: ReleasingCampaign, message: string | null): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const { campaign_id } = campaign;
    await noteReleaseError(postgres.service, campaign, message, new Date(clock.now_ms())).catch(
      (err: unknown) =>
        logger.warn({ err, campaign_id }, 'the reason why a bonus campaign has stopped could not be stored'),
    );
  }

  /** Gives shares of the rate to grants that were put off, which were promised first, and then to reserved members. */
  async #release(campaign: ReleasingCampaign): Promise<void> {
    const { postgres, clock } = this.#deps;
    const { campaign_id, released_to, has_reserved, has_error } = campaign;
    if (this.#allowed(campaign, released_to, { due: 0, room: MAX_WAITING }).count <= 0) return;
    // Before the campaign is locked: after a long outage there is much to read over.
    const counted = { most: MAX_WAITING, now: new Date(clock.now_ms()) };
    const { waiting, due, put_off, early } = await countWaiting(postgres.service, campaign, counted);
    const resumed = put_off === 0 ? 0 : await this.#resume(campaign, { due, is_early: false });
    const left = { due: due + resumed, room: MAX_WAITING - waiting };
    const released = has_reserved ? await this.#releaseReserved(campaign, left) : 0;
    if (has_error && (released > 0 || !has_reserved)) await this.#note(campaign, null);
    const is_idle = due + resumed + released === 0;
    if (!is_idle || early === 0 || this.#probing.has(campaign_id)) return;
    // Nothing would show that the platform takes calls again, although all may wait for an hour.
    this.#probing.begin(campaign_id);
    await this.#resume(campaign, { due, is_early: true, most: 1 });
  }

  /** What the rate allows. `due`: grants that wait for the sender already; `room`: so many at most. */
  #allowed({ rate_per_second }: ReleasingCampaign, released_to: Date | null, { due, room }: Allowed) {
    const now_ms = this.#deps.clock.now_ms();
    return releasable(rate_per_second, {
      now_ms,
      released_to_ms: released_to?.getTime() ?? null,
      room,
      waiting: due,
    });
  }

  /** Takes shares of the rate for what `use` does with them in the transaction; returns how many have got on. */
  async #take(
    campaign: ReleasingCampaign,
    allowed: Allowed,
    use: (tx: Tx, locked: BonusCampaignRow, limit: number, now: Date) => Promise<Released>,
  ): Promise<number> {
    const { postgres, clock } = this.#deps;
    const place = this.#placeOf(campaign);
    const began_ms = performance.now();
    let tried = 0;
    const got_on = await retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        await limitTransaction(tx, STATEMENT_MS, LOCK_MS);
        const locked = await lockPart(tx, campaign, 'release', false);
        if (locked === undefined) return 0;
        const shares = this.#allowed(campaign, await selectReleasedTo(tx, campaign), allowed);
        const { count, start_ms, each_ms } = shares;
        if (count <= 0) return 0;
        tried = Math.min(count, place.most);
        const { released, skipped } = await use(tx, locked, tried, new Date(clock.now_ms()));
        // Those who were skipped use nothing of the rate.
        if (released > 0)
          await noteReleased(tx, campaign, new Date(Math.ceil(start_ms + released * each_ms)));
        return released + skipped;
      }),
    ).catch((error: unknown) => {
      if (!isStatementTimeout(error) || tried <= 1) throw error;
      place.most = Math.floor(tried / 2);
      throw new TooMany('so many members at once take too long', { cause: error });
    });
    if (got_on > 0) this.#has_released = true;
    const is_quick = performance.now() - began_ms < STATEMENT_MS / 4;
    if (is_quick && tried === place.most) place.most = Math.min(2 * place.most, MAX_WAITING);
    return got_on;
  }

  async #releaseReserved(campaign: ReleasingCampaign, allowed: Allowed): Promise<number> {
    if (allowed.room <= 0) return 0;
    const place = this.#placeOf(campaign);
    let after: string | undefined;
    // Those who were held before the last one have their turn when the others have had theirs.
    const onFound = (last: string | undefined) => (after = last ?? NIL_ID);
    const got_on = await this.#take(campaign, allowed, (tx, locked, limit, now) =>
      releaseMembers(tx, locked, { limit, after: place.after, onFound, now, due_at: now }),
    );
    if (after !== undefined) place.after = after;
    return got_on;
  }

  #placeOf({ campaign_id }: ReleasingCampaign): ReleasePlace {
    const place = this.#reached.get(campaign_id) ?? { after: NIL_ID, most: MAX_WAITING };
    this.#reached.set(campaign_id, place);
    return place;
  }

  /** Lets grants that were put off be called again; `is_early`: before their time, as far as their platform lets them. */
  #resume(
    campaign: ReleasingCampaign,
    { due, is_early, most = MAX_WAITING }: { due: number; is_early: boolean; most?: number },
  ): Promise<number> {
    return this.#take(campaign, { due, room: most }, async (tx, locked, limit, now) => ({
      released: await resumePutOff(tx, locked, { limit, now, is_early }),
      skipped: 0,
    }));
  }
}

/** A statement took too long, and the next try is about fewer members. */
class TooMany extends Error {
  override readonly name = 'TooMany';
}

/** How far the release of a campaign has come, and how many members it takes at once. */
interface ReleasePlace {
  /** Index entries of those who were released are not read again. */
  after: string;
  most: number;
}

/** Grants that wait for the sender already, and how many more may. */
interface Allowed {
  due: number;
  room: number;
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
      const locked = await lockPart(tx, ref, 'release', true);
      if (locked === undefined) return;
      const now_ms = clock.now_ms();
      const released_to_ms = (await selectReleasedTo(tx, ref))?.getTime() ?? null;
      const { due_ms, used_to_ms } = nextShare(locked.rate_per_second, { now_ms, released_to_ms });
      const at = { now: new Date(now_ms), due_at: new Date(Math.ceil(due_ms)) };
      const { released } = await releaseMembers(tx, locked, { limit: 1, only: player_id, ...at });
      if (released > 0) await noteReleased(tx, ref, new Date(Math.ceil(used_to_ms)));
    }),
  );
}
