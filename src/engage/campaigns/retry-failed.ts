import type { AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import { BackOff } from '../../platform/back-off.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Platform } from '../../platform/platform.ts';
import { lockCampaign, type CampaignRef } from './queries.ts';
import { CAMPAIGN } from './read.ts';
import { chooseProvider, requireStatus } from './send.ts';
import { notifyMessengers } from '../messaging/wake-queries.ts';
import {
  endRetrying,
  markRetrying,
  MAX_REQUEUED,
  requeueUnavailable,
  selectRetrying,
} from './retry-failed-queries.ts';

/** How long the messages wait for their provider this time, as they did the first time. */
const WAIT_MS = 24 * 3_600_000;
/** How many campaigns are gone on with in one turn. */
const MAX_RETRYING = 20;

/**
 * The answer to retrying: how many messages are queued again. Of more than a thousand it is the number of those that failed,
 * of which some may be left out, because a merge made them messages to one person.
 */
export interface RetryResult {
  campaign_id: string;
  queued: number;
  enqueued_at: string;
}

/**
 * Queues the campaign's messages with PROVIDER_UNAVAILABLE again, within the caller's transaction; they pass the gate
 * like all others. The first thousand are queued at once, the others by {@link FailedRetries}. Without such messages
 * nothing changes. `unavailable`: how many there were before the transaction; counting a million of them here would hold
 * the campaign, and a transaction id, for seconds. Rejects with CAMPAIGN_NOT_FOUND, CAMPAIGN_INVALID_STATUS unless the campaign is sending or sent, or
 * PROVIDER_NOT_CONFIGURED when its provider is gone or paused.
 */
export async function retryFailed(
  tx: Tx,
  ref: CampaignRef,
  unavailable: number,
  now: Date,
  audit: AuditChange,
): Promise<RetryResult> {
  const campaign = requireRow(CAMPAIGN, ref, await lockCampaign(tx, ref));
  requireStatus(campaign, ['sending', 'sent'], 'retried');
  await chooseProvider(tx, ref.tenant_id, campaign);
  const until = new Date(now.getTime() + WAIT_MS);
  const first = await requeueUnavailable(tx, ref, until);
  const queued = first < MAX_REQUEUED ? first : Math.max(first, unavailable);
  const result = { campaign_id: ref.campaign_id, queued, enqueued_at: now.toISOString() };
  if (queued === 0) return result;
  await markRetrying(tx, ref, until, now);
  if (first < MAX_REQUEUED) await endRetrying(tx, ref, until);
  await notifyMessengers(tx, ref.campaign_id);
  await audit(tx, {
    tenant_id: ref.tenant_id,
    project_id: ref.project_id,
    resource_id: ref.campaign_id,
    before: { status: campaign.status },
    after: { status: 'sending', queued },
  });
  return result;
}

/** Queues the remaining messages of campaigns that are retried, a thousand in each transaction. */
export class FailedRetries {
  readonly #platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  readonly #back_off = new BackOff();

  constructor(platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#platform = platform;
  }

  /**
   * Queues up to a thousand messages of each campaign; returns whether there may be more. After the deadline nothing is
   * queued: the messages would be given up at once, and then be queued again. A campaign that fails backs off.
   */
  async turn(): Promise<boolean> {
    const { postgres, clock, logger } = this.#platform;
    const retrying = await selectRetrying(postgres.service, this.#back_off.keys(), MAX_RETRYING);
    for (const { until, ...ref } of retrying) {
      const { campaign_id } = ref;
      try {
        await postgres.service.begin(async (tx) => {
          const is_over = until.getTime() <= clock.now_ms();
          const queued = is_over ? 0 : await requeueUnavailable(tx, ref, until);
          if (queued < MAX_REQUEUED) await endRetrying(tx, ref, until);
          if (queued > 0) await notifyMessengers(tx, ref.campaign_id);
        });
      } catch (error) {
        this.#back_off.begin(campaign_id);
        logger.warn(
          { err: error, campaign_id },
          'messages could not be queued again; the campaign backs off',
        );
      }
    }
    return retrying.length > 0;
  }
}
