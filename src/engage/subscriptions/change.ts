import { ApiError, validationError } from '../../errors.ts';
import { auditOf, type Auditing } from '../../http/audit.ts';
import { requireLiveRow, requireRow, type RecordKind } from '../../http/record.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { wakeDeliverers } from '../webhooks/wake-queries.ts';
import { eraseSubscriptionSecrets } from '../webhooks/secret-queries.ts';
import { addSubscriptionSecret } from '../webhooks/secrets.ts';
import type { SubscriptionRef } from '../webhooks/subscription-ref.ts';
import { queueTest } from './dispatch.ts';
import { breaksJob, purgeJob, replayJob } from './jobs.ts';
import {
  countSubscriptions,
  insertSubscription,
  lockProjectSubscriptions,
  lockSubscription,
  selectSegments,
  selectShown,
  updateSubscription,
  type ShownSubscription,
  type SubscriptionRow,
} from './queries.ts';
import { REPLAYED_MS, startReplay } from './replay-queries.ts';
import type { CreateSubscriptionBody, PatchSubscriptionBody } from './schema.ts';
import { imageOf } from './subscription-json.ts';

export type ChangeDeps = Pick<Platform, 'postgres' | 'clock' | 'egress' | 'jobs'> & {
  /** They encrypt the secrets. */
  credentials_keys: EncryptionKeys;
};

/** The kind of a subscription, for ids and errors. */
export const SUBSCRIPTION: RecordKind<'project', 'subscription_id'> = {
  scope: 'project',
  noun: 'event subscription',
  id: 'subscription_id',
  not_found: 'NOT_FOUND',
};

/** One change may have to be queued for each of them. */
const MAX_SUBSCRIPTIONS = 10;

/** A subscription and the text of its new secret, which is known only now. */
export interface WithSecret {
  row: ShownSubscription;
  secret: string;
}

/** A subscription in the audit log, with the id of a new secret. */
type Audited = SubscriptionRow & { secret_id?: string };

const auditSubscription = auditOf(SUBSCRIPTION, ({ secret_id, ...row }: Audited, _ref: SubscriptionRef) => ({
  ...imageOf(row),
  ...(secret_id === undefined ? {} : { secret_id }),
}));

/** The subscription, deleted or not. Rejects with NOT_FOUND. */
export async function findSubscription(
  { postgres }: Pick<ChangeDeps, 'postgres'>,
  ref: SubscriptionRef,
): Promise<ShownSubscription> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectShown(tx, ref));
  return requireRow(SUBSCRIPTION, ref, row);
}

/** Creates a subscription with its secret. Rejects with VALIDATION_ERROR, or CONFLICT when the project has 10. */
export async function createSubscription(
  { postgres, clock, egress, jobs, credentials_keys, audit }: ChangeDeps & Auditing,
  { tenant_id, project_id }: ProjectRef,
  body: CreateSubscriptionBody,
): Promise<WithSecret> {
  requireUsableUrl(egress, body.url);
  const now = new Date(clock.now_ms());
  const ref = { tenant_id, project_id, subscription_id: newId() };
  const made: SubscriptionRow = {
    ...ref,
    ...body,
    status: 'active',
    last_sequence: 0n,
    counted_at_sequence: 0n,
    dropped: 0n,
    last_dropped_at: null,
    replay_from: null,
    replay_until: null,
    replay_position: null,
    replayed: null,
    replay_ended_at: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  return postgres.asTenant(tenant_id, async (tx) => {
    await lockProjectSubscriptions(tx, ref);
    if ((await countSubscriptions(tx, ref)) >= MAX_SUBSCRIPTIONS) {
      const message = `the project has ${MAX_SUBSCRIPTIONS} event subscriptions: delete one that is not used`;
      throw new ApiError('CONFLICT', message);
    }
    await requireSegments(tx, ref, body.segment_ids);
    await insertSubscription(tx, made);
    const { secret } = await addSubscriptionSecret(tx, ref, { credentials_keys, now });
    await auditSubscription(audit, tx, ref, null, made);
    if (body.events.includes('exclusion.ended')) await jobs.add(tx, breaksJob(ref));
    return { row: await shown(tx, ref), secret };
  });
}

/** Changes a subscription: what waits goes to the new URL, too. Rejects with NOT_FOUND or VALIDATION_ERROR. */
export async function changeSubscription(
  { egress, jobs, ...deps }: ChangeDeps & Auditing,
  ref: SubscriptionRef,
  patch: PatchSubscriptionBody,
): Promise<ShownSubscription> {
  if (patch.url !== undefined) requireUsableUrl(egress, patch.url);
  return change(deps, ref, async (tx, before) => {
    const { name = before.name, url = before.url, events = before.events } = patch;
    const segment_ids = patch.segment_ids === undefined ? before.segment_ids : patch.segment_ids;
    if (patch.segment_ids !== undefined) await requireSegments(tx, ref, segment_ids);
    const has_new_ends = events.includes('exclusion.ended') && !before.events.includes('exclusion.ended');
    if (has_new_ends) await jobs.add(tx, breaksJob(ref));
    return { ...before, name, url, events, segment_ids };
  });
}

/** Pauses or enables: a paused subscription is sent nothing, and its events wait. Idempotent. Rejects with NOT_FOUND. */
export async function setStatus(
  deps: Pick<ChangeDeps, 'postgres' | 'clock'> & Auditing,
  ref: SubscriptionRef,
  status: SubscriptionRow['status'],
): Promise<ShownSubscription> {
  return change(deps, ref, async (tx, before) => {
    await wakeDeliverers(tx);
    return { ...before, status };
  });
}

/** Makes a new secret, which alone signs from now on. Rejects with NOT_FOUND. */
export async function rotateSecret(
  {
    postgres,
    clock,
    credentials_keys,
    audit,
  }: Pick<ChangeDeps, 'postgres' | 'clock' | 'credentials_keys'> & Auditing,
  ref: SubscriptionRef,
): Promise<WithSecret> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const before = requireRow(SUBSCRIPTION, ref, await lockSubscription(tx, ref));
    const { secret, secret_id, before_id } = await addSubscriptionSecret(tx, ref, { credentials_keys, now });
    const after = { ...before, updated_at: now };
    await updateSubscription(tx, after);
    const audited_before = before_id === undefined ? before : { ...before, secret_id: before_id };
    await auditSubscription(audit, tx, ref, audited_before, { ...after, secret_id });
    return { row: await shown(tx, ref), secret };
  });
}

/** Soft delete: it is sent nothing from now on, and what waits is removed. Idempotent. Rejects with NOT_FOUND. */
export async function deleteSubscription(
  { postgres, clock, jobs, audit }: Pick<ChangeDeps, 'postgres' | 'clock' | 'jobs'> & Auditing,
  ref: SubscriptionRef,
): Promise<ShownSubscription> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const before = await lockSubscription(tx, ref);
    if (before !== undefined) {
      const after = { ...before, updated_at: now, deleted_at: now };
      await updateSubscription(tx, after);
      await eraseSubscriptionSecrets(tx, ref, now);
      await jobs.add(tx, purgeJob(ref));
      await auditSubscription(audit, tx, ref, before, after);
    }
    return shown(tx, ref);
  });
}

/** Queues a test event; returns its id. Rejects with NOT_FOUND, or CONFLICT while the subscription is paused. */
export async function testSubscription(
  { postgres, clock, audit }: Pick<ChangeDeps, 'postgres' | 'clock'> & Auditing,
  ref: SubscriptionRef,
): Promise<{ event_id: string; sequence: bigint }> {
  const now = new Date(clock.now_ms());
  const event_id = newId();
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(SUBSCRIPTION, ref, await lockSubscription(tx, ref));
    requireActive(row);
    const sequence = await queueTest(tx, row, event_id, now);
    await audit(tx, {
      tenant_id: ref.tenant_id,
      project_id: ref.project_id,
      resource_id: ref.subscription_id,
      before: null,
      after: { event_id },
    });
    return { event_id, sequence };
  });
}

/**
 * Begins to queue again what was queued since `from` and has ended. Rejects with NOT_FOUND, VALIDATION_ERROR (`from` is in the
 * future or over 7 days ago), or CONFLICT while a replay runs.
 */
export async function replaySubscription(
  { postgres, clock, jobs, audit }: Pick<ChangeDeps, 'postgres' | 'clock' | 'jobs'> & Auditing,
  ref: SubscriptionRef,
  from: Date,
): Promise<ShownSubscription> {
  const now_ms = clock.now_ms();
  if (from.getTime() > now_ms)
    throw validationError([{ path: 'from', message: 'must not be in the future' }]);
  if (from.getTime() < now_ms - REPLAYED_MS) {
    const first = new Date(now_ms - REPLAYED_MS).toISOString();
    throw validationError([{ path: 'from', message: `must be at most 7 days ago: ${first} or later` }]);
  }
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(SUBSCRIPTION, ref, await lockSubscription(tx, ref));
    if (row.replay_from !== null && row.replay_ended_at === null) {
      throw new ApiError('CONFLICT', 'a replay of the subscription is running: wait until it has ended');
    }
    await startReplay(tx, row, from);
    await jobs.add(tx, replayJob(ref));
    await audit(tx, {
      tenant_id: ref.tenant_id,
      project_id: ref.project_id,
      resource_id: ref.subscription_id,
      before: null,
      after: { from },
    });
    return shown(tx, ref);
  });
}

/** Runs `work` on the locked subscription, writes what it returns, and records it. Rejects with NOT_FOUND. */
async function change(
  { postgres, clock, audit }: Pick<ChangeDeps, 'postgres' | 'clock'> & Auditing,
  ref: SubscriptionRef,
  work: (tx: Tx, before: SubscriptionRow) => Promise<SubscriptionRow>,
): Promise<ShownSubscription> {
  const updated_at = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const before = requireLiveRow(SUBSCRIPTION, ref, await lockSubscription(tx, ref));
    const after = { ...(await work(tx, before)), updated_at };
    await updateSubscription(tx, after);
    await auditSubscription(audit, tx, ref, before, after);
    return shown(tx, ref);
  });
}

async function shown(tx: Tx, ref: SubscriptionRef): Promise<ShownSubscription> {
  const [row] = await selectShown(tx, ref);
  return requireRow(SUBSCRIPTION, ref, row);
}

function requireActive({ status }: SubscriptionRow): void {
  if (status === 'active') return;
  throw new ApiError('CONFLICT', 'the subscription is paused: enable it before');
}

/** Throws VALIDATION_ERROR unless webhooks of journeys may go to the URL, too. */
function requireUsableUrl(egress: ChangeDeps['egress'], url: string): void {
  const problem = egress.problemOf(url);
  if (problem !== undefined) throw validationError([{ path: 'url', message: problem }]);
}

/** Rejects with VALIDATION_ERROR unless the project has the segments. */
async function requireSegments(
  tx: Tx,
  project: ProjectRef,
  segment_ids: readonly string[] | null,
): Promise<void> {
  if (segment_ids === null) return;
  const known = await selectSegments(tx, project, segment_ids);
  const issues = segment_ids.flatMap((id, n) =>
    known.has(id) ? [] : [{ path: `segment_ids.${n}`, message: `segment ${id} does not exist` }],
  );
  if (issues.length > 0) throw validationError(issues);
}
