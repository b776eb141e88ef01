import { ApiError, validationError, type Issue } from '../../errors.ts';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { campaignResourceOf, variantResourceOf, CAMPAIGN, VARIANT } from './read.ts';
import {
  insertCampaign,
  lockCampaign,
  selectCampaign,
  selectLiveVariants,
  selectNamed,
  softDeleteCampaign,
  updateCampaign,
  type CampaignPlan,
  type CampaignRef,
  type CampaignRow,
  type VariantRow,
} from './queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { CampaignStatus, CreateCampaignBody, PatchCampaignBody } from './schema.ts';
import { insertVariant, selectMismatchedVariants } from './variant-queries.ts';

const DEFAULT_ATTRIBUTION_DAYS = 7;
const DEFAULT_WEIGHT = 100;
/** In these statuses nothing was sent yet, so everything may be changed. */
const CHANGEABLE: readonly CampaignStatus[] = ['draft', 'scheduled'];

export interface ChangeDeps {
  postgres: Postgres;
  clock: Clock;
  audit: AuditChange;
}

/**
 * Creates a campaign (spec part 4) with its default variant: a draft, or `scheduled` when the body has a `schedule_at`.
 * Rejects with VALIDATION_ERROR.
 */
export async function createCampaign(
  { postgres, clock, audit }: ChangeDeps,
  project: ProjectRef,
  body: CreateCampaignBody,
): Promise<CampaignRow> {
  const ref = { ...project, campaign_id: newId() };
  const now = new Date(clock.now_ms());
  const plan = planOf(NOTHING, body, now);
  return postgres.asTenant(project.tenant_id, async (tx) => {
    await checkNamed(tx, ref, plan, body);
    await insertCampaign(tx, ref, plan, now);
    const variant = { name: 'default', label: 'default', template_id: null, weight: DEFAULT_WEIGHT };
    const variant_ref = { ...ref, variant_id: newId() };
    await insertVariant(tx, variant_ref, { ...variant, sort_order: 0, is_default: true }, now);
    const campaign = await auditCampaign(audit, tx, ref, null);
    const [made = null] = await selectLiveVariants(tx, ref);
    await auditVariant(audit, tx, ref, null, made, { resource: 'campaign_variant', action: 'create' });
    return campaign;
  });
}

/**
 * Changes a campaign that is draft or scheduled. Rejects with CAMPAIGN_NOT_FOUND, CAMPAIGN_INVALID_STATUS or
 * VALIDATION_ERROR.
 */
export async function changeCampaign(
  { postgres, clock, audit }: ChangeDeps,
  ref: CampaignRef,
  patch: PatchCampaignBody,
): Promise<CampaignRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = await lockExisting(tx, ref);
    requireChangeable(row, 'changed');
    const plan = planOf(row, patch, now);
    await checkNamed(tx, ref, plan, patch);
    if (plan.channel !== row.channel) await checkVariants(tx, ref, plan);
    await updateCampaign(tx, ref, plan, now);
    return auditCampaign(audit, tx, ref, row);
  });
}

/**
 * Soft delete. Idempotent. Rejects with CAMPAIGN_NOT_FOUND, or with CAMPAIGN_INVALID_STATUS once the campaign was sent
 * or cancelled.
 */
export async function deleteCampaign(
  { postgres, clock, audit }: ChangeDeps,
  ref: CampaignRef,
): Promise<CampaignRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockCampaign(tx, ref);
    if (live === undefined) return reread(tx, ref);
    requireChangeable(live, 'deleted');
    await softDeleteCampaign(tx, ref, now);
    return auditCampaign(audit, tx, ref, live);
  });
}

/** The campaign, if it is not deleted, locked. Rejects with CAMPAIGN_NOT_FOUND. */
export async function lockExisting(tx: Tx, ref: CampaignRef): Promise<CampaignRow> {
  return requireRow(CAMPAIGN, ref, await lockCampaign(tx, ref));
}

/** Throws CAMPAIGN_INVALID_STATUS unless the campaign is draft or scheduled. */
export function requireChangeable({ status }: CampaignRow, what: string): void {
  if (CHANGEABLE.includes(status)) return;
  const message = `the campaign is ${status}: it can be ${what} while it is draft or scheduled`;
  throw new ApiError('CAMPAIGN_INVALID_STATUS', message);
}

/** The campaign as it is now, with its change written to the audit log. */
export async function auditCampaign(
  audit: AuditChange,
  tx: Tx,
  ref: CampaignRef,
  before: CampaignRow | null,
): Promise<CampaignRow> {
  return auditRow(audit, tx, ref, before, await reread(tx, ref));
}

const auditRow = auditOf(CAMPAIGN, campaignResourceOf);

/** Writes the change of a variant to the audit log. */
export const auditVariant = auditOf(VARIANT, (row: VariantRow, { campaign_id }: CampaignRef) =>
  variantResourceOf(campaign_id, row),
);

async function reread(tx: Tx, ref: CampaignRef): Promise<CampaignRow> {
  const [row] = await selectCampaign(tx, ref);
  return requireRow(CAMPAIGN, ref, row);
}

/** A new campaign before the fields of the body. */
const NOTHING: Omit<CampaignPlan, 'name' | 'channel'> & Partial<CampaignPlan> = {
  type: 'broadcast',
  segment_id: null,
  template_id: null,
  provider_id: null,
  schedule_at: null,
  trigger_event: null,
  goal_event: null,
  goal_attribution_days: null,
  goal_value_property: null,
  holdout_percent: 0,
  send_time: null,
  status: 'draft',
};

/**
 * The campaign after the patch. A type other than `triggered` drops the trigger event, and one other than `broadcast` the
 * send time. Throws VALIDATION_ERROR when the patch names them for such a type, or a `schedule_at` that is not in the future.
 */
function planOf(row: Partial<CampaignPlan>, patch: PatchCampaignBody, now: Date): CampaignPlan {
  const { schedule_at, ...given } = patch;
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  // Complete: `row` is a whole row, or `patch` is the whole body of a new campaign.
  const plan = { ...row, ...set } as CampaignPlan;
  if (plan.type !== 'triggered') {
    if (typeof given.trigger_event === 'string') {
      throw validationError([{ path: 'trigger_event', message: 'belongs to campaigns of type triggered' }]);
    }
    plan.trigger_event = null;
  }
  if (plan.type !== 'broadcast') {
    if (typeof given.send_time === 'string') {
      throw validationError([{ path: 'send_time', message: 'belongs to campaigns of type broadcast' }]);
    }
    plan.send_time = null;
  }
  if (plan.goal_event !== null) plan.goal_attribution_days ??= DEFAULT_ATTRIBUTION_DAYS;
  if (schedule_at === undefined) return plan;
  if (schedule_at === null) return { ...plan, schedule_at: null, status: 'draft' };
  const at = new Date(schedule_at);
  if (!(at > now)) throw validationError([{ path: 'schedule_at', message: 'choose a time in the future' }]);
  return { ...plan, schedule_at: at, status: 'scheduled' };
}

/**
 * Checks that the segment, template and provider in `given` exist, and that template and provider are of the plan's
 * channel; those that the campaign had before are checked again only when `given` changes the channel.
 */
async function checkNamed(
  tx: Tx,
  project: ProjectRef,
  plan: CampaignPlan,
  given: PatchCampaignBody,
): Promise<void> {
  const { channel, segment_id, template_id, provider_id } = plan;
  const named = await selectNamed(tx, project, { segment_id, template_id, provider_id });
  const issues: Issue[] = [];
  const check = (path: 'template_id' | 'provider_id', found: string | null, what: string) => {
    if ((given[path] ?? given.channel) === undefined || plan[path] === null) return;
    if (found === null) issues.push({ path, message: `must be ${what}` });
    else if (found !== channel) {
      issues.push({ path, message: `is for ${found}, the campaign's channel is ${channel}` });
    }
  };
  if (typeof given.segment_id === 'string' && !named.segment_exists) {
    issues.push({ path: 'segment_id', message: 'must be a segment of this project' });
  }
  check('template_id', named.template_channel, 'a template of this project');
  check('provider_id', named.provider_channel, 'a messaging provider of this tenant');
  if (issues.length > 0) throw validationError(issues);
}

async function checkVariants(tx: Tx, ref: CampaignRef, { channel }: CampaignPlan): Promise<void> {
  const mismatched = await selectMismatchedVariants(tx, ref, channel);
  if (mismatched.length === 0) return;
  const ids = mismatched.slice(0, 5).map(({ variant_id }) => variant_id);
  const message = `the templates of variants are of another channel: change or delete ${ids.join(', ')} first`;
  throw validationError([{ path: 'channel', message }]);
}
