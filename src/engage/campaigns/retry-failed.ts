import { z } from 'zod';
import type { AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Jobs, NewJob } from '../../platform/jobs/port.ts';
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
/** Queues the remaining messages of a campaign that is retried. */
export const RETRY_TASK = 'campaign-retry-failed';
const MAX_ATTEMPTS = 25;

const campaignRef = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid(), campaign_id: z.uuid() });

/**
 * The answer to retrying: how many messages are queued again. Above a thousand it is the number of those that failed. Some
 * of these may not be queued, because a merge made them messages to one person.
 */
export interface RetryResult {
  campaign_id: string;
  queued: number;
  enqueued_at: string;
}

/**
 * Queues the campaign's messages with PROVIDER_UNAVAILABLE again, within the caller's transaction; they pass the gate
 * like all others. The first thousand are queued at once, the others by jobs. Without such messages
 * nothing changes. `unavailable`: how many there were before the transaction; counting a million of them here would hold
 * the campaign, and a transaction id, for seconds. Rejects with CAMPAIGN_NOT_FOUND, CAMPAIGN_INVALID_STATUS unless the campaign is sending or sent, or
 * PROVIDER_NOT_CONFIGURED when its provider is gone or paused.
 */
export async function retryFailed(
  tx: Tx,
  ref: CampaignRef,
  unavailable: number,
  now: Date,
  { audit, jobs }: { audit: AuditChange; jobs: Jobs },
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
  else await jobs.add(tx, retryJob(ref));
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

/** A job that queues the next messages of a campaign; it replaces a waiting one of the same campaign. */
function retryJob({ tenant_id, project_id, campaign_id }: CampaignRef): NewJob {
  const payload = { tenant_id, project_id, campaign_id };
  const job_key = `${RETRY_TASK} ${campaign_id}`;
  // Before longer jobs: this one is short, and messages wait for it.
  return { task: RETRY_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key, priority: -1 };
}

/**
 * The task `campaign-retry-failed`: queues up to a thousand messages, and in the same transaction adds the job for those
 * that may follow, so that the jobs of others have their turns. After the deadline nothing is queued: the messages would
 * be given up at once, and then be queued again.
 */
export async function runRetryJob(
  { postgres, clock, jobs }: Pick<Platform, 'postgres' | 'clock' | 'jobs'>,
  payload: unknown,
): Promise<void> {
  const ref = campaignRef.parse(payload);
  await postgres.service.begin(async (tx) => {
    const until = await selectRetrying(tx, ref);
    if (until === undefined) return;
    const is_over = until.getTime() <= clock.now_ms();
    const queued = is_over ? 0 : await requeueUnavailable(tx, ref, until);
    if (queued < MAX_REQUEUED) await endRetrying(tx, ref, until);
    else await jobs.add(tx, retryJob(ref));
    if (queued > 0) await notifyMessengers(tx, ref.campaign_id);
  });
}
