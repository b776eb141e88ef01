import { NotCaughtUp } from '../../analytics/caught-up.ts';
import { ApiError } from '../../errors.ts';
import { RoundRobin, type RoundRobinOptions } from '../../platform/round-robin.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import { endUnsent } from '../grants/conclude.ts';
import { decideStep, type Cursor, type DecideDeps } from './decide-step.ts';
import { noteWait } from './daily-budget.ts';
import { deleteFrozenTerms } from './frozen-terms-queries.ts';
import { FILL_BATCH } from './issue.ts';
import { selectBonusCampaign, type BonusCampaignRef, type BonusCampaignRow } from './queries.ts';
import { noteReleased, selectReleasedTo } from './release-queries.ts';
import { withoutShares } from './release-rate.ts';
import { giveBack } from './reserve-queries.ts';
import { retryShort } from './retry-short.ts';
import {
  endReserved,
  fillRows,
  hasRows,
  lockForStep,
  lockUnsent,
  markFinished,
  noteError,
  noteFilled,
  selectOpenCampaigns,
  skipPending,
  takeBackUnsent,
  type OpenCampaign,
} from './work-queries.ts';

/** The parts of the platform that issuing in the background uses. */
export interface WorkDeps extends DecideDeps, Pick<Platform, 'logger'> {}

/** Campaigns that one turn looks at. */
const MAX_OPEN = 1_000;
/** How long a campaign keeps its place, while it gets on; no step takes much longer than that. */
const SLICE_MS = 1_000;
/** How long a campaign pauses that could not get on. */
const IDLE_MS = 500;
/** Campaigns at work at the same time: in all, of a tenant, and one at a time. */
const MAX_AT_WORK = [8, 4, 1];
const FAILURE_PAUSES = { pauses_ms: [5_000] };
/** Members of a cancelled campaign that one transaction ends, and grants, each of which has a history. */
const SKIP_BATCH = 10_000;
const END_BATCH = 50;
const TAKE_BACK_BATCH = 512;
/** Terms of a finished campaign that one transaction removes. */
const REMOVE_BATCH = 2_000;

/** A queue of campaigns at work, in which a campaign that could not get on pauses for `idle_ms`, and 5 s after a failure. */
export function campaignQueue<Campaign extends BonusCampaignRef>(
  idle_ms: number,
  ends: Pick<RoundRobinOptions<Campaign>, 'onFailure' | 'onEnd'>,
): RoundRobin<Campaign> {
  return new RoundRobin({
    keysOf: ({ tenant_id, campaign_id }) => [tenant_id, campaign_id],
    max_running: MAX_AT_WORK,
    idle_pauses: { pauses_ms: [idle_ms] },
    failure_pauses: FAILURE_PAUSES,
    ...ends,
  });
}

/**
 * Issues campaigns: makes rows of members, decides about them and reserves, ends and takes back grants, and finishes
 * campaigns. Each step is a short transaction that holds the campaign's row, and finds what is left in the rows, so after
 * a crash it goes on where it was. Several campaigns are at work at a time, each for a while; one that fails backs off.
 */
export class CampaignWork {
  readonly #deps: WorkDeps;
  readonly #queue: RoundRobin<OpenCampaign>;
  #after = NIL_ID;
  /** By campaign: looks at members who wait for a daily budget that go on in the campaign's next time. */
  readonly #looks = new Map<string, Cursor>();
  /** Called when a campaign that got on has ended its time: the next turn should come at once. */
  onMore: () => void = () => undefined;

  constructor(deps: WorkDeps) {
    this.#deps = deps;
    this.#queue = campaignQueue(IDLE_MS, {
      onFailure: ({ campaign_id }, error) =>
        deps.logger.warn({ err: error, campaign_id }, 'a bonus campaign failed; it backs off'),
      onEnd: (worked) => {
        if (worked) this.onMore();
      },
    });
  }

  /** Has campaigns with work begin, and does not wait for them; true when there are more to look at. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { service } = this.#deps.postgres;
    const now = new Date(this.#deps.clock.now_ms());
    const open = await selectOpenCampaigns(service, { after: this.#after, limit: MAX_OPEN, now });
    this.#after = open.length === MAX_OPEN ? (open.at(-1)?.campaign_id ?? NIL_ID) : NIL_ID;
    void this.#queue.offer(
      open.filter(({ has_work }) => has_work),
      (one) => this.#work(one, stop),
    );
    return this.#after !== NIL_ID;
  }

  /** Resolves when no campaign is at work. */
  close(): Promise<void> {
    return this.#queue.close();
  }

  /** Whether it got on. */
  async #work(ref: BonusCampaignRef, stop: AbortSignal | undefined): Promise<boolean> {
    const { postgres, clock, logger } = this.#deps;
    const { campaign_id } = ref;
    const until_ms = performance.now() + SLICE_MS;
    const cursor = this.#looks.get(campaign_id) ?? { after: NIL_ID };
    this.#looks.delete(campaign_id);
    try {
      let steps = 0;
      let is_cut = true;
      for (; performance.now() < until_ms; steps++) {
        stop?.throwIfAborted();
        is_cut = await this.#step(ref, cursor, stop);
        if (!is_cut) break;
      }
      // Those who cost less may be behind.
      if (is_cut && cursor.waiting?.is_over === false) this.#looks.set(campaign_id, cursor);
      // Otherwise the members who wait would be decided about again and again.
      else if (cursor.waiting !== undefined) await noteWait(this.#deps, ref, cursor.waiting.cost_base);
      return steps > 0;
    } catch (error) {
      if (stop?.aborted === true) return false;
      if (!(error instanceof ApiError) && !(error instanceof NotCaughtUp)) throw error;
      await noteError(postgres.service, ref, error.message, new Date(clock.now_ms())).catch(
        (cause: unknown) =>
          logger.warn(
            { err: cause, campaign_id },
            'the reason why a bonus campaign has stopped could not be stored',
          ),
      );
      throw error;
    }
  }

  /** One step of each kind; true when one got on. */
  async #step(ref: BonusCampaignRef, cursor: Cursor, stop: AbortSignal | undefined): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const [campaign] = await selectBonusCampaign(postgres.service, ref);
    if (campaign === undefined || campaign.finished_at !== null) return false;
    if (campaign.status === 'paused') {
      const has_filled = await this.#fill(campaign);
      return (await this.#takeBack(campaign)) || has_filled;
    }
    if (campaign.status === 'cancelled') {
      const has_filled = await this.#fill(campaign);
      return (await this.#end(campaign)) || has_filled || this.#finish(campaign);
    }
    // At the same time: they are about other members.
    const [filled, decided] = await Promise.allSettled([
      this.#fill(campaign),
      decideStep(this.#deps, campaign, { stop, cursor }),
    ]);
    if (filled.status === 'rejected') throw filled.reason;
    if (decided.status === 'rejected') throw decided.reason;
    if ((decided.value > 0 || cursor.waiting !== undefined) && campaign.last_error !== null) {
      await noteError(postgres.service, ref, null, new Date(clock.now_ms()));
    }
    return filled.value || decided.value > 0 || this.#finish(campaign);
  }

  /** Runs a step in a transaction that holds the campaign; false when another process holds it, or it was changed. */
  #held(
    campaign: BonusCampaignRow,
    work: (tx: Tx, locked: BonusCampaignRow) => Promise<boolean>,
  ): Promise<boolean> {
    return retryConflicts(() =>
      this.#deps.postgres.service.begin(async (tx) => {
        const locked = await lockForStep(tx, campaign);
        return locked?.status === campaign.status && work(tx, locked);
      }),
    );
  }

  /** Also while the campaign is paused: its members are those of its issue. */
  async #fill(campaign: BonusCampaignRow): Promise<boolean> {
    if (campaign.is_filled) return false;
    return this.#held(campaign, async (tx, locked) => {
      if (locked.is_filled) return false;
      await noteFilled(tx, locked, await fillRows(tx, locked, locked.filled_to ?? NIL_ID, FILL_BATCH));
      return true;
    });
  }

  /** Takes back from the sender what it could not send: its members are reserved again. */
  #takeBack(campaign: BonusCampaignRow): Promise<boolean> {
    return this.#held(campaign, async (tx, locked) => {
      const { taken, shares } = await takeBackUnsent(tx, locked, TAKE_BACK_BATCH);
      if (taken === 0) return false;
      const released_to = await selectReleasedTo(tx, locked);
      if (released_to === null) return true;
      const used_to_ms = withoutShares(locked.rate_per_second, released_to.getTime(), shares);
      await noteReleased(tx, locked, new Date(Math.ceil(used_to_ms)));
      return true;
    });
  }

  /** Ends what of a cancelled campaign was not sent, whether it was given to the sender or not. */
  #end(campaign: BonusCampaignRow): Promise<boolean> {
    return this.#held(campaign, async (tx, locked) => {
      if ((await skipPending(tx, locked, SKIP_BATCH)) > 0) return true;
      const held = await endReserved(tx, locked, SKIP_BATCH);
      if (held.length > 0) {
        await giveBack(tx, locked, held);
        return true;
      }
      const now = new Date(this.#deps.clock.now_ms());
      const unsent = await lockUnsent(tx, locked, END_BATCH);
      for (const grant of unsent) await endUnsent(tx, grant, now, 'CANCELLED');
      return unsent.length > 0;
    });
  }

  /** Ends a campaign of which nobody waits, unless failed grants have left room for members who were omitted. */
  #finish(campaign: BonusCampaignRow): Promise<boolean> {
    return this.#held(campaign, async (tx, locked) => {
      if (!locked.is_filled || (await hasRows(tx, locked, ['pending', 'reserved', 'sent']))) return false;
      if (locked.status === 'issuing' && (await retryShort(tx, locked))) return true;
      if ((await deleteFrozenTerms(tx, locked, REMOVE_BATCH)) > 0) return true;
      await markFinished(tx, locked, new Date(this.#deps.clock.now_ms()));
      return true;
    });
  }
}
