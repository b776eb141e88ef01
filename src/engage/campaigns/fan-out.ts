import { tenantGateAt } from '../messaging/gate.ts';
import { variantChooser } from './variant-choice.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { BackOff } from '../../platform/back-off.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  commitLater,
  cutRange,
  deleteBatches,
  insertRows,
  EVERYBODY,
  selectMembers,
  takeNextBatch,
  type FanOutBatch,
} from './fan-out-queries.ts';
import { notifyMessengers } from '../messaging/wake-queries.ts';
import { selectLiveCampaign, selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';

/** Turns waiting ranges of members into send rows (spec part 4); campaigns take turns. */
export class FanOut {
  readonly #platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  readonly #back_off = new BackOff();
  #last: CampaignRef | undefined;

  constructor(platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#platform = platform;
  }

  /**
   * Makes the rows of one range; returns false when no range waits. One transaction deletes the range and inserts its
   * rows, and cuts the following ranges when it was the last one, so after a crash the range waits again. A cancelled campaign gets no further rows. A campaign whose range
   * fails backs off, and the others go on.
   */
  async turn(): Promise<boolean> {
    const { postgres, clock, logger } = this.#platform;
    let taken: FanOutBatch | undefined;
    try {
      return await postgres.service.begin(async (tx) => {
        commitLater(tx);
        taken = await takeNextBatch(tx, this.#last, this.#back_off.keys());
        if (taken === undefined) return false;
        this.#last = taken;
        const campaign = await selectLiveCampaign(tx, taken);
        if (campaign?.status === 'sending') await fanOutBatch(tx, campaign, taken, new Date(clock.now_ms()));
        else await deleteBatches(tx, taken);
        return true;
      });
    } catch (error) {
      if (taken === undefined) throw error;
      const { campaign_id } = taken;
      this.#back_off.begin(campaign_id);
      logger.warn({ err: error, campaign_id }, 'a range of members failed; the campaign backs off');
      return true;
    }
  }
}

/**
 * Begins the fan-out in the transaction that marks the campaign as `sending`: makes the rows of the first range, which
 * are all of a small campaign, and leaves the other ranges to the processor. It cuts a limited number of ranges, so its
 * time does not grow with the segment.
 */
export async function beginFanOut(tx: Tx, ref: CampaignRef, campaign: CampaignRow, now: Date): Promise<void> {
  await fanOutBatch(tx, campaign, { ...ref, ...EVERYBODY }, now);
}

/** Makes the rows of one range of members; of a range without an end those of its first members, and cuts the rest. */
async function fanOutBatch(tx: Tx, campaign: CampaignRow, taken: FanOutBatch, now: Date): Promise<void> {
  const { tenant_id, project_id, campaign_id } = taken;
  const { segment_id, channel, provider_id } = campaign;
  const audience = { tenant_id, project_id, campaign_id, segment_id, channel };
  const range = taken.until_player_id === null ? await cutRange(tx, audience, taken) : taken;
  const members = await selectMembers(tx, audience, range);
  if (members.length === 0) return;
  const gate = await tenantGateAt(tx, audience, now, () => members.map(({ timezone }) => timezone));
  const variants = await selectLiveVariants(tx, audience);
  const variantOf = variantChooser(campaign_id, variants);
  const choices = new Map(members.map(({ player_id }) => [player_id, variantOf(player_id)]));
  await insertRows(tx, { audience, provider_id, choices }, gate);
  await notifyMessengers(tx, audience.campaign_id);
}
