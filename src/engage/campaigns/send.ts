import { ApiError, validationError } from '../../errors.ts';
import { requireRow } from '../../http/record.ts';
import type { AuditChange } from '../../http/audit.ts';
import { notifyMessengers } from '../messaging/wake-queries.ts';
import { selectProviderFor } from '../providers/queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { BackOff } from '../../platform/back-off.ts';
import type { Platform } from '../../platform/platform.ts';
import { auditCampaign, type ChangeDeps } from './change.ts';
import { countCampaign, type AudienceCounts, type CountedAudience } from './audience.ts';
import { beginFanOut, countRows, type MadeOfChannel } from './fan-out.ts';
import {
  lockCampaign,
  selectLiveVariants,
  type CampaignRef,
  type CampaignRow,
  finishCampaigns,
  markCancelled,
  markSending,
  markUnsendable,
  selectDueCampaigns,
  selectTemplateStates,
} from './queries.ts';
import { CAMPAIGN } from './read.ts';

/**
 * The answer to sending a campaign (spec part 4): how many members it has, and how many pass the gate at that moment.
 */
export interface SendResult extends AudienceCounts {
  campaign_id: string;
  enqueued_at: string;
}

/** Runs `work` in a transaction of the tenant. */
type InTransaction<T> = (work: (tx: Tx) => Promise<SendResult>) => Promise<T>;

/**
 * Sends a campaign at once: counts whom it reaches, then starts it in the transaction that `run` opens. Rejects as
 * {@link startCampaign} does.
 */
export async function sendCampaign<T>(
  { postgres, clock, metrics, audit }: ChangeDeps & SendMetrics,
  ref: CampaignRef,
  run: InTransaction<T>,
): Promise<T> {
  const now = new Date(clock.now_ms());
  const counted = await countCampaign(postgres, ref, now);
  let made: MadeOfChannel | undefined;
  const sent = await run(async (tx) => {
    made = await startCampaign(tx, ref, now, { audit, counted });
    // Without counts the campaign could not be sent when it was counted.
    const { counts } = counted ?? changedMeanwhile();
    return { campaign_id: ref.campaign_id, ...counts, enqueued_at: now.toISOString() };
  });
  if (made !== undefined) countRows(metrics, made);
  return sent;
}

type SendMetrics = Pick<Platform, 'metrics'>;

interface StartOptions {
  /** Throws unless the campaign may be sent; absent: it must be draft or scheduled. */
  requireReady?: (campaign: CampaignRow) => void;
  /** Absent: the schedule sends the campaign, not a caller. */
  audit?: AuditChange;
  /** What the answer says; the campaign must still be the one that was counted. Absent: nobody asked. */
  counted?: CountedAudience | undefined;
}

/**
 * Starts a campaign within the caller's transaction: makes the rows of the first members and the ranges that follow;
 * the processor makes the other rows. Rejects with CAMPAIGN_NOT_FOUND, CAMPAIGN_INVALID_STATUS, TEMPLATE_NOT_ACTIVE,
 * PROVIDER_NOT_CONFIGURED, VALIDATION_ERROR for a triggered campaign without an event or a campaign of type journey, or
 * SERVICE_UNAVAILABLE when it was changed since it was counted. Resolves with the rows that it has made; undefined for a
 * triggered campaign.
 */
export async function startCampaign(
  tx: Tx,
  ref: CampaignRef,
  now: Date,
  { requireReady = requireUnsent, audit, counted }: StartOptions = {},
): Promise<MadeOfChannel | undefined> {
  const campaign = requireRow(CAMPAIGN, ref, await lockCampaign(tx, ref));
  requireReady(campaign);
  if (counted !== undefined && !isOf(counted, campaign)) changedMeanwhile();
  requireStartable(campaign);
  await requireTemplates(tx, ref);
  const provider_id = await chooseProvider(tx, ref.tenant_id, campaign);
  await markSending(tx, ref, provider_id, now);
  await notifyMessengers(tx, ref.campaign_id);
  if (audit !== undefined) await auditCampaign(audit, tx, ref, campaign);
  const sending: CampaignRow = { ...campaign, status: 'sending', provider_id, started_at: now };
  return campaign.type === 'triggered' ? undefined : beginFanOut(tx, ref, sending, now);
}

function isOf(counted: CountedAudience, campaign: CampaignRow): boolean {
  return (['type', 'segment_id', 'channel', 'send_time'] as const).every(
    (name) => counted[name] === campaign[name],
  );
}

function changedMeanwhile(): never {
  const message = 'the campaign was changed while its recipients were counted; send the request again';
  throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S });
}

const RETRY_AFTER_S = 1;

/**
 * Cancels a campaign (spec part 3). Messages that a provider already has are delivered; the messenger skips queued
 * ones; no further rows are made. Rejects with CAMPAIGN_NOT_FOUND or CAMPAIGN_INVALID_STATUS.
 */
export async function cancelCampaign(
  { postgres, clock, audit }: ChangeDeps,
  ref: CampaignRef,
): Promise<void> {
  const now = new Date(clock.now_ms());
  await postgres.asTenant(ref.tenant_id, async (tx) => {
    const campaign = requireRow(CAMPAIGN, ref, await lockCampaign(tx, ref));
    requireStatus(campaign, ['draft', 'scheduled', 'sending'], 'cancelled');
    await markCancelled(tx, ref, now);
    await notifyMessengers(tx, ref.campaign_id);
    await auditCampaign(audit, tx, ref, campaign);
  });
}

/** How many due campaigns are started in one turn. */
const MAX_DUE = 20;

/** Sends campaigns that are due, and marks those as sent that are done. */
export class Schedule {
  readonly #platform: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;
  readonly #back_off = new BackOff();

  constructor(platform: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>) {
    this.#platform = platform;
  }

  /**
   * Starts up to 20 due campaigns; returns whether more may be due. A campaign that may not be sent becomes a draft
   * again; a campaign that fails for another reason backs off.
   */
  async turn(): Promise<boolean> {
    const { postgres, clock, logger, metrics } = this.#platform;
    const now = new Date(clock.now_ms());
    await finishCampaigns(postgres.service, now);
    const due = await selectDueCampaigns(postgres.service, now, this.#back_off.keys(), MAX_DUE);
    for (const ref of due) {
      const { campaign_id } = ref;
      try {
        const requireReady = requireDue(now);
        const made = await postgres.service.begin((tx) => startCampaign(tx, ref, now, { requireReady }));
        if (made !== undefined) countRows(metrics, made);
      } catch (error) {
        if (error instanceof NotDue) continue;
        if (error instanceof ApiError) {
          await markUnsendable(postgres.service, ref, error.message, now);
          logger.warn({ err: error, campaign_id }, 'a scheduled campaign could not be sent');
        } else {
          this.#back_off.begin(campaign_id);
          logger.warn({ err: error, campaign_id }, 'a scheduled campaign failed; it backs off');
        }
      }
    }
    return due.length === MAX_DUE;
  }
}

/** The campaign is no longer due: another process started it, or its schedule changed. */
class NotDue extends Error {
  override readonly name = 'NotDue';
}

function requireDue(now: Date) {
  return ({ status, schedule_at }: CampaignRow): void => {
    if (status !== 'scheduled' || schedule_at === null || schedule_at > now) throw new NotDue();
  };
}

function requireUnsent(campaign: CampaignRow): void {
  requireStatus(campaign, ['draft', 'scheduled'], 'sent');
}

/** Throws CAMPAIGN_INVALID_STATUS unless the campaign is in one of these statuses; `done`: what cannot be done with it. */
export function requireStatus({ status }: CampaignRow, allowed: readonly string[], done: string): void {
  if (allowed.includes(status)) return;
  const message = `a campaign that is ${status} cannot be ${done}: it must be ${allowed.join(' or ')}`;
  throw new ApiError('CAMPAIGN_INVALID_STATUS', message);
}

function requireStartable({ type, trigger_event }: CampaignRow): void {
  if (type === 'journey') {
    throw validationError([{ path: 'type', message: 'a campaign of type journey is sent by its journey' }]);
  }
  if (type === 'triggered' && trigger_event === null) {
    throw validationError([
      { path: 'trigger_event', message: 'must name the event that fires the campaign' },
    ]);
  }
}

/**
 * Throws TEMPLATE_NOT_ACTIVE for a template that is not active. A deleted template is not an error here: its rows are
 * skipped.
 */
async function requireTemplates(tx: Tx, ref: CampaignRef): Promise<void> {
  const variants = await selectLiveVariants(tx, ref);
  const ids = variants.flatMap(({ template_id }) => (template_id === null ? [] : [template_id]));
  if (ids.length === 0) return;
  const idle = (await selectTemplateStates(tx, ref, ids)).filter(({ is_active }) => !is_active);
  if (idle.length === 0) return;
  const names = idle.map(({ template_id }) => template_id).join(', ');
  throw new ApiError('TEMPLATE_NOT_ACTIVE', `make these templates active first: ${names}`);
}

/** The campaign's provider, or the oldest active one of its channel. Throws PROVIDER_NOT_CONFIGURED. */
export async function chooseProvider(
  tx: Tx,
  tenant_id: string,
  { provider_id, channel }: CampaignRow,
): Promise<string> {
  const found = await selectProviderFor(tx, tenant_id, channel, provider_id);
  if (found === undefined || found.deleted_at !== null || found.status !== 'active') {
    throw new ApiError('PROVIDER_NOT_CONFIGURED', `add an active messaging provider for ${channel} first`);
  }
  return found.provider_id;
}
