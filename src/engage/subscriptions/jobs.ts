import { z } from 'zod';
import { inBatches } from '../../platform/in-batches.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { NewJob } from '../../platform/jobs/port.ts';
import type { Platform } from '../../platform/platform.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import { LIMITS, type QueueLimits } from './bound.ts';
import { removeAll, removeOld, selectSubscriptionsAfter } from './bound-queries.ts';
import { lockSubscription, REPLAY_TASK } from './queries.ts';
import { noteOpenBreaks, replayNext, REPLAYED_MS } from './replay-queries.ts';

/** Removes the events of a deleted subscription. */
export const PURGE_TASK = 'event-subscription-purge';
/** Notes the breaks whose ends are reported from now on. */
export const BREAKS_TASK = 'event-subscription-breaks';

const MAX_ATTEMPTS = 10;
/** Events that one transaction queues again. */
const MAX_REPLAYED = 1_000;
/** Subscriptions that are read at once. */
const PAGE = 100;

type Deps = Pick<Platform, 'postgres' | 'clock'>;

const reference = z.strictObject({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  subscription_id: z.uuid(),
});

export const replayJob = (ref: SubscriptionRef): NewJob => jobOf(REPLAY_TASK, ref);
export const purgeJob = (ref: SubscriptionRef): NewJob => jobOf(PURGE_TASK, ref);
export const breaksJob = (ref: SubscriptionRef): NewJob => jobOf(BREAKS_TASK, ref);

function jobOf(task: string, { tenant_id, project_id, subscription_id }: SubscriptionRef): NewJob {
  const payload = { tenant_id, project_id, subscription_id };
  return { task, payload, max_attempts: MAX_ATTEMPTS, job_key: `${task} ${subscription_id}` };
}

/** The task {@link REPLAY_TASK}: part by part, each with the position in its transaction, so that it may begin anew. */
export async function runReplayJob(deps: Deps, payload: unknown, stop: AbortSignal): Promise<void> {
  const ref = reference.parse(payload);
  for (let has_more = true; has_more;) {
    stop.throwIfAborted();
    has_more = await replayPart(deps, ref);
  }
}

function replayPart({ postgres, clock }: Deps, ref: SubscriptionRef): Promise<boolean> {
  return retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      const row = await lockSubscription(tx, ref);
      return row !== undefined && replayNext(tx, row, MAX_REPLAYED, new Date(clock.now_ms()));
    }),
  );
}

/** The task {@link PURGE_TASK}. */
export async function runSubscriptionPurge(
  { postgres }: Deps,
  payload: unknown,
  stop: AbortSignal,
): Promise<void> {
  const ref = reference.parse(payload);
  await inBatches((limit) => removeAll(postgres.service, ref, limit), stop);
}

/** The task {@link BREAKS_TASK}. */
export async function runBreaksJob({ postgres, clock }: Deps, payload: unknown): Promise<void> {
  await noteOpenBreaks(postgres.service, reference.parse(payload), new Date(clock.now_ms()));
}

/**
 * Removes events of subscriptions that cannot be replayed any more: queued over 7 days ago, or a million events ago. What
 * waits stays until it is given up.
 */
export async function cleanUpSubscriptions(
  { postgres, clock }: Deps,
  stop: AbortSignal,
  { max_pending }: Pick<QueueLimits, 'max_pending'> = LIMITS,
): Promise<void> {
  const before = new Date(clock.now_ms() - REPLAYED_MS);
  let after: SubscriptionRef = { tenant_id: NIL_ID, project_id: NIL_ID, subscription_id: NIL_ID };
  for (;;) {
    const page = await selectSubscriptionsAfter(postgres.service, after, PAGE);
    for (const one of page) {
      const until = one.last_sequence - BigInt(max_pending);
      await inBatches(
        (limit) =>
          one.deleted_at === null
            ? removeOld(postgres.service, one, { before, until }, limit)
            : removeAll(postgres.service, one, limit),
        stop,
      );
      if (stop.aborted) return;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last;
  }
}
