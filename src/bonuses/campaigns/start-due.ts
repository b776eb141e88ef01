import { ApiError } from '../../errors.ts';
import { BackOff } from '../../platform/back-off.ts';
import type { Platform } from '../../platform/platform.ts';
import { countCampaignMembers, startIssue } from './issue.ts';
import type { BonusCampaignRef, BonusCampaignRow } from './queries.ts';
import { markUnissuable, selectDueBonusCampaigns } from './work-queries.ts';

/** Campaigns that one turn starts. */
const MAX_DUE = 20;

/** Issues the campaigns whose time has come. One that fails is skipped for a while, so that later ones have their turn. */
export class CampaignStarts {
  readonly #deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  readonly #back_off = new BackOff();

  constructor(deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Starts campaigns that are due; true when there may be more. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const now = new Date(clock.now_ms());
    const due = await selectDueBonusCampaigns(postgres.service, now, MAX_DUE, this.#back_off.keys());
    for (const ref of due) {
      if (stop?.aborted === true) return false;
      await this.#start(ref, now);
    }
    // Each of them was started, or rests now.
    return due.length === MAX_DUE;
  }

  /** Never rejects because of the campaign. */
  async #start(ref: BonusCampaignRef, now: Date): Promise<void> {
    const { postgres, logger } = this.#deps;
    const { campaign_id } = ref;
    try {
      const counted = await countCampaignMembers(postgres, ref);
      await postgres.service.begin((tx) => startIssue(tx, ref, counted, { now, requireReady: isDue(now) }));
    } catch (error) {
      // Should it be due all the same, it is found again after a while.
      if (!(error instanceof NotDue)) {
        logger.warn({ err: error, campaign_id }, 'a scheduled bonus campaign could not be issued');
      }
      if (error instanceof ApiError && error.code !== 'SERVICE_UNAVAILABLE') {
        await markUnissuable(postgres.service, ref, error.message, now);
      } else this.#back_off.begin(campaign_id);
    }
  }
}

/** The campaign is no longer due: another process started it, or its schedule changed. */
class NotDue extends Error {
  override readonly name = 'NotDue';
}

function isDue(now: Date) {
  return ({ status, schedule_at }: BonusCampaignRow): void => {
    if (status !== 'scheduled' || schedule_at === null || schedule_at > now) throw new NotDue();
  };
}
