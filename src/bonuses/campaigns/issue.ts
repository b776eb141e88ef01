import { ApiError, validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { baseCeil, inCurrency } from '../templates/amounts.ts';
import { largestBonus, needsDeposit } from '../templates/config.ts';
import { worthOf } from '../grants/worth.ts';
import { totalsOf, type CampaignTotals } from './campaign-json.ts';
import { auditBonusCampaign, checkPlan, requireStatus } from './change.ts';
import {
  lockBonusCampaign,
  selectBonusCampaign,
  updateBonusCampaign,
  type BonusCampaignRef,
  type BonusCampaignRow,
} from './queries.ts';
import { BONUS_CAMPAIGN, findBonusCampaign } from './read.ts';
import { countRows } from './stats-queries.ts';
import { loadIssueTerms, type IssueTerms } from './terms-of-issue.ts';
import { countMembers, fillRows, insertCampaignBudget, noteFilled } from './work-queries.ts';

/** With more members than this a campaign needs `max_liability`. */
export const MANY_MEMBERS = 1_000;
/** Also when it may cost more than this, in whole units of the base currency. */
export const MUCH_LIABILITY_UNITS = 10_000n;
/** Members whose rows one transaction makes. */
export const FILL_BATCH = 10_000;
/** Members that are decided at once; fewer where their events are asked about. */
export const DECIDE_BATCH = 2_000;
export const FACTS_BATCH = 200;

/** What issuing a campaign answers. */
export interface Issued {
  id: string;
  status: BonusCampaignRow['status'];
  stats: CampaignTotals['stats'];
}

/** The number of members of a campaign's segment, at a moment. */
export interface CountedMembers {
  segment_id: string;
  members: number;
}

/** Counts the members of a campaign; over a million of them takes a second, so it comes before the transaction. */
export async function countCampaignMembers(
  postgres: Postgres,
  ref: BonusCampaignRef,
): Promise<CountedMembers> {
  const { segment_id } = await findBonusCampaign(postgres, ref);
  const [row] = await postgres.countAsTenant(ref.tenant_id, (tx) => countMembers(tx, ref, segment_id));
  return { segment_id, members: row?.members ?? 0 };
}

/**
 * Starts a campaign in the caller's transaction, which makes the rows of the first members; the processor makes the
 * others. `requireReady` throws unless it may be started; `audit` absent: the schedule starts it. Rejects with
 * BONUS_CAMPAIGN_NOT_FOUND, BONUS_CAMPAIGN_INVALID_STATUS, the errors of writing a campaign, BONUS_TEMPLATE_NOT_ACTIVE,
 * VALIDATION_ERROR when it needs `max_liability`, or SERVICE_UNAVAILABLE when it was changed since it was counted.
 */
export async function startIssue(
  tx: Tx,
  ref: BonusCampaignRef,
  counted: CountedMembers,
  {
    now,
    audit,
    requireReady,
  }: { now: Date; audit?: AuditChange; requireReady?: (row: BonusCampaignRow) => void },
): Promise<Issued> {
  const row = requireRow(BONUS_CAMPAIGN, ref, await lockBonusCampaign(tx, ref));
  if (requireReady === undefined) requireStatus(row, ['draft', 'scheduled'], 'issued');
  else requireReady(row);
  if (row.segment_id !== counted.segment_id) {
    const message = 'the campaign was changed while its members were counted; send the request again';
    throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: 1 });
  }
  const { issued_product } = await checkPlan(tx, ref, row, now);
  const terms = await loadIssueTerms(tx, row, now);
  const { members } = counted;
  requireLiability(terms, members);
  await insertCampaignBudget(tx, ref);
  const started_as = {
    status: 'issuing',
    issued_at: now,
    issued_product,
    members,
    last_error: null,
  } as const;
  const issuing = { ...row, ...started_as };
  await updateBonusCampaign(tx, ref, issuing, now);
  await noteFilled(tx, ref, await fillRows(tx, issuing, NIL_ID, FILL_BATCH));
  const [started] = await selectBonusCampaign(tx, ref);
  const now_row = requireRow(BONUS_CAMPAIGN, ref, started);
  if (audit !== undefined) await auditBonusCampaign(audit, tx, row, now_row);
  const { stats } = totalsOf(now_row, await countRows(tx, ref, [ref.campaign_id]));
  return { id: ref.campaign_id, status: now_row.status, stats };
}

/** Throws VALIDATION_ERROR when a large campaign has no limit of what it may cost. */
function requireLiability(terms: IssueTerms, members: number): void {
  const { campaign } = terms;
  if (campaign.max_liability !== null) return;
  const liability = largestCost(terms) * BigInt(Math.min(members, campaign.max_grants ?? members));
  const much = MUCH_LIABILITY_UNITS * 10n ** BigInt(terms.rates.base_scale);
  if (members <= MANY_MEMBERS && liability <= much) return;
  const message = `is needed: the campaign has ${members} members and may cost ${liability} in the base currency; without it at most ${MANY_MEMBERS} members and ${much}`;
  throw validationError([{ path: 'max_liability', message }]);
}

/** The most that one grant can cost, in the smallest unit of the base currency. */
function largestCost({ campaign, template, terms, rates }: IssueTerms): bigint {
  const { currency, fx, base_fx } = rates;
  if (needsDeposit(template.type) && campaign.deposit_amount !== null) {
    const deposit_amount = BigInt(campaign.deposit_amount);
    return worthOf(terms, rates, { deposit_amount, amount_override: null }).bonus_amount_base;
  }
  const { config } = fx === null ? terms : inCurrency(terms, currency, fx);
  return baseCeil(largestBonus(config), base_fx ?? 'same');
}
