import { ApiError, validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { readGrantRates } from '../grants/worth.ts';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { needsDeposit } from '../templates/config.ts';
import { offerViolations, refuseViolations } from '../templates/licence-check.ts';
import { segmentExists, type BonusTemplateRow } from '../templates/queries.ts';
import { readTemplate } from '../templates/read.ts';
import { termsOf } from '../templates/terms.ts';
import { settingsJson } from './campaign-json.ts';
import { qualifyingProductOfSegment } from './qualifying.ts';
import {
  insertBonusCampaign,
  lockBonusCampaign,
  updateBonusCampaign,
  type BonusCampaignPlan,
  type BonusCampaignRef,
  type BonusCampaignRow,
} from './queries.ts';
import { BONUS_CAMPAIGN } from './read.ts';
import type { BonusCampaignStatus, CreateBonusCampaignBody, PatchBonusCampaignBody } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  audit: AuditChange;
}

/** A new campaign before the fields of the body. */
const NOTHING = {
  deposit_amount: null,
  deposit_from: null,
  currency_override: null,
  schedule_at: null,
  max_liability: null,
  max_grants: null,
  rate_per_second: null,
  daily_budget_base: null,
  pace: 'even',
  qualifying_product: null,
  advertising: 'direct',
  holdout_percent: 0,
  status: 'draft',
} as const satisfies Partial<BonusCampaignPlan>;

/**
 * Creates a bonus campaign: a draft, or `scheduled` when the body has a `schedule_at`. Rejects with VALIDATION_ERROR,
 * BONUS_TEMPLATE_NOT_FOUND, BONUS_DEPOSIT_AMOUNT_REQUIRED, BONUS_CONFIG_INVALID or LICENCE_RULE_VIOLATED.
 */
export async function createBonusCampaign(
  { postgres, clock, audit }: Deps,
  project: ProjectRef,
  body: CreateBonusCampaignBody,
): Promise<BonusCampaignRow> {
  const now = new Date(clock.now_ms());
  const plan = planOf(NOTHING, body, now);
  const { tenant_id, project_id } = project;
  return postgres.asTenant(tenant_id, async (tx) => {
    await checkWritten(tx, project, plan, now);
    const row = await insertBonusCampaign(tx, { tenant_id, project_id, campaign_id: newId() }, plan, now);
    return auditBonusCampaign(audit, tx, null, row);
  });
}

/**
 * Changes a campaign that is draft or scheduled, or, with `status` alone, one that is being issued. Rejects as
 * {@link createBonusCampaign} does, and with BONUS_CAMPAIGN_NOT_FOUND or BONUS_CAMPAIGN_INVALID_STATUS.
 */
export async function changeBonusCampaign(
  { postgres, clock, audit }: Deps,
  ref: BonusCampaignRef,
  { status, ...patch }: PatchBonusCampaignBody,
): Promise<BonusCampaignRow> {
  const now = new Date(clock.now_ms());
  if (status !== undefined && Object.values(patch).some((value) => value !== undefined)) {
    throw validationError([{ path: 'status', message: 'must be the only field that is changed' }]);
  }
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(BONUS_CAMPAIGN, ref, await lockBonusCampaign(tx, ref));
    const changed = status === undefined ? await patched(tx) : { ...row, ...moved(row, status) };
    return auditBonusCampaign(audit, tx, row, await updateBonusCampaign(tx, ref, changed, now));

    async function patched(within: Tx): Promise<BonusCampaignRow> {
      requireStatus(row, ['draft', 'scheduled'], 'changed');
      const plan = planOf(row, patch, now);
      await checkWritten(within, ref, plan, now);
      return { ...row, ...plan, last_error: null };
    }
  });
}

/** The statuses from which a PATCH leads to each. */
const FROM = {
  paused: ['issuing'],
  issuing: ['paused'],
  cancelled: ['issuing', 'paused'],
} as const satisfies Partial<Record<BonusCampaignStatus, readonly BonusCampaignStatus[]>>;

function moved(row: BonusCampaignRow, status: keyof typeof FROM): Pick<BonusCampaignRow, 'status'> {
  if (row.status !== status) requireStatus(row, FROM[status], status === 'issuing' ? 'resumed' : status);
  return { status };
}

/** Throws BONUS_CAMPAIGN_INVALID_STATUS unless the campaign is in one of these statuses. */
export function requireStatus(
  { status }: BonusCampaignRow,
  allowed: readonly BonusCampaignStatus[],
  done: string,
): void {
  if (allowed.includes(status)) return;
  const message = `a bonus campaign that is ${status} cannot be ${done}: it must be ${allowed.join(' or ')}`;
  throw new ApiError('BONUS_CAMPAIGN_INVALID_STATUS', message);
}

/** Writes the change of a campaign to the audit log. */
export async function auditBonusCampaign(
  audit: AuditChange,
  tx: Tx,
  before: BonusCampaignRow | null,
  after: BonusCampaignRow,
): Promise<BonusCampaignRow> {
  const { tenant_id, project_id, campaign_id: resource_id } = after;
  const was = before === null ? null : settingsJson(before);
  await audit(tx, { tenant_id, project_id, resource_id, before: was, after: settingsJson(after) });
  return after;
}

function planOf(
  row: Partial<BonusCampaignPlan>,
  { schedule_at, deposit_amount, ...patch }: Omit<PatchBonusCampaignBody, 'status'>,
  now: Date,
): BonusCampaignPlan {
  const set = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  // Complete: `row` is a whole row, or `patch` is the whole body of a new campaign.
  const plan = { ...row, ...set } as BonusCampaignPlan;
  if (deposit_amount !== undefined) {
    plan.deposit_amount = deposit_amount === null ? null : String(deposit_amount);
  }
  if (schedule_at === undefined) return plan;
  if (schedule_at === null) return { ...plan, schedule_at: null, status: 'draft' };
  const at = new Date(schedule_at);
  if (!(at > now)) {
    throw validationError([{ path: 'schedule_at', message: 'choose a time in the future' }]);
  }
  return { ...plan, schedule_at: at, status: 'scheduled' };
}

/** What is checked of a plan once its template is read. */
interface PlanCheck {
  plan: BonusCampaignPlan;
  template: BonusTemplateRow;
  now: Date;
}

/** Checks a campaign that is written: as {@link checkPlan} does, and that there is such a segment. */
async function checkWritten(tx: Tx, project: ProjectRef, plan: BonusCampaignPlan, now: Date): Promise<void> {
  const template = await readTemplate(tx, project, plan.template_id);
  if (!(await segmentExists(tx, project, plan.segment_id))) {
    throw validationError([{ path: 'segment_id', message: 'must be a segment of this project' }]);
  }
  await checkTerms(tx, project, { plan, template, now });
}

/**
 * Checks what a campaign names, and the rules of the licence, when it is issued; returns its template, and what members bet
 * on to get the bonus. A segment that was deleted since the campaign was written has no members. Rejects as
 * {@link createBonusCampaign} does.
 */
export async function checkPlan(
  tx: Tx,
  project: ProjectRef,
  plan: BonusCampaignPlan,
  now: Date,
): Promise<{ template: BonusTemplateRow; issued_product: RuleProduct | null }> {
  const template = await readTemplate(tx, project, plan.template_id);
  return { template, issued_product: await checkTerms(tx, project, { plan, template, now }) };
}

/** Returns what members bet on to get the bonus. */
async function checkTerms(
  tx: Tx,
  project: ProjectRef,
  { plan, template, now }: PlanCheck,
): Promise<RuleProduct | null> {
  const { tenant_id } = project;
  const { deposit_amount, deposit_from, currency_override } = plan;
  if (deposit_amount !== null && deposit_from !== null) {
    throw validationError([
      { path: 'deposit_from', message: 'give deposit_amount or deposit_from, not both' },
    ]);
  }
  if (needsDeposit(template.type) && deposit_amount === null && deposit_from === null) {
    const message = `a campaign of a ${template.type} needs deposit_amount or deposit_from`;
    throw new ApiError('BONUS_DEPOSIT_AMOUNT_REQUIRED', message);
  }
  const terms = termsOf(template);
  await readGrantRates(tx, tenant_id, terms.config.currency, currency_override, now);
  const { segment_id, advertising } = plan;
  const qualifying_product =
    plan.qualifying_product ?? (await qualifyingProductOfSegment(tx, { ...project, segment_id }));
  const offer = { terms, qualifying_product, advertising };
  refuseViolations((await offerViolations(tx, tenant_id, [offer], now)).flat());
  return qualifying_product;
}
