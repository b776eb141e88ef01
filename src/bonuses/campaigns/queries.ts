import type { PendingQuery, Row } from 'postgres';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Advertising, RuleProduct } from '../../tenants/licence/rule.ts';
import type { Pace } from './pacing.ts';
import type { BonusCampaignFilters, BonusCampaignStatus } from './schema.ts';

/** The key of a bonus campaign. */
export interface BonusCampaignRef extends ProjectRef {
  campaign_id: string;
}

/** The fields of a bonus campaign that may change before it is issued. */
export interface BonusCampaignPlan {
  name: string;
  template_id: string;
  segment_id: string;
  /** Digits, in the smallest unit of the grants' currency. */
  deposit_amount: string | null;
  deposit_from: 'last_deposit' | null;
  currency_override: string | null;
  schedule_at: Date | null;
  /** In the smallest unit of the base currency. */
  max_liability: bigint | null;
  max_grants: number | null;
  rate_per_second: number | null;
  /** What grants of one day may cost, in the smallest unit of the base currency; null: no limit of a day. */
  daily_budget_base: bigint | null;
  pace: Pace;
  /** What members bet on to get the bonus; null: on nothing that is known. */
  qualifying_product: RuleProduct | null;
  advertising: Advertising;
  /** The share of those who pass the gate that gets nothing, in percent: 0 … 100. */
  holdout_percent: number;
  status: BonusCampaignStatus;
}

/** A bonus campaign as Postgres has it. */
export interface BonusCampaignRow extends BonusCampaignRef, BonusCampaignPlan {
  /** `qualifying_product` at the issue, or else what the segment's conditions said then; null: nothing that is known. */
  issued_product: RuleProduct | null;
  members: number;
  is_filled: boolean;
  filled_to: string | null;
  /** Why it could not be issued when it was due, or why nothing is decided. */
  last_error: string | null;
  /** Why nothing is released. */
  release_error: string | null;
  created_at: Date;
  updated_at: Date;
  issued_at: Date | null;
  finished_at: Date | null;
}

/** Every column of {@link BonusCampaignRow}, of the table `c`. */
export function campaignColumns(tx: Tx): PendingQuery<Row[]> {
  return tx`c.tenant_id, c.project_id, c.campaign_id, c.name, c.template_id, c.segment_id, c.deposit_amount,
    c.deposit_from, c.currency_override, c.schedule_at, c.max_liability, c.max_grants, c.rate_per_second,
    c.daily_budget_base, c.pace, c.qualifying_product, c.issued_product, c.advertising, c.holdout_percent, c.status, c.members, c.is_filled, c.filled_to, c.last_error, c.release_error,
    c.created_at, c.updated_at, c.issued_at, c.finished_at`;
}

/** The condition that names one campaign of the table `c`. */
export function isCampaign(tx: Tx, { tenant_id, project_id, campaign_id }: BonusCampaignRef) {
  return tx`c.tenant_id = ${tenant_id} and c.project_id = ${project_id} and c.campaign_id = ${campaign_id}`;
}

/** The campaign; no row when the project has none of this id. */
export function selectBonusCampaign(tx: Tx, ref: BonusCampaignRef): PendingQuery<BonusCampaignRow[]> {
  return tx<
    BonusCampaignRow[]
  >`select ${campaignColumns(tx)} from bonus_campaigns c where ${isCampaign(tx, ref)}`;
}

/** The campaign, locked until the transaction ends, also against decisions about its members and their release. */
export async function lockBonusCampaign(
  tx: Tx,
  ref: BonusCampaignRef,
): Promise<BonusCampaignRow | undefined> {
  const [row] = await tx<BonusCampaignRow[]>`
    select ${campaignColumns(tx)} from bonus_campaigns c where ${isCampaign(tx, ref)} for update`;
  return row;
}

/** The project of a tenant's campaign. */
export async function selectProjectOfCampaign(
  tx: Tx,
  tenant_id: string,
  campaign_id: string,
): Promise<string | undefined> {
  const [row] = await tx<{ project_id: string }[]>`
    select c.project_id from projects p cross join lateral (
      select c.project_id from bonus_campaigns c
      where c.tenant_id = ${tenant_id} and c.project_id = p.project_id and c.campaign_id = ${campaign_id} offset 0) c
    where p.tenant_id = ${tenant_id}`;
  return row?.project_id;
}

/** A page of the campaigns, the newest first. */
export function listBonusCampaigns(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { status }: BonusCampaignFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<BonusCampaignRow>[]> {
  return tx<Listed<BonusCampaignRow>[]>`
    select ${campaignColumns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from bonus_campaigns c
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      ${status === undefined ? tx`` : tx`and status = ${status}`}
      ${beyond(tx, 'created_at', 'campaign_id', after)}
    order by created_at desc, campaign_id desc
    limit ${limit}`;
}

export async function insertBonusCampaign(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  plan: BonusCampaignPlan,
  now: Date,
): Promise<BonusCampaignRow> {
  const [row] = await tx<BonusCampaignRow[]>`
    insert into bonus_campaigns as c (tenant_id, project_id, campaign_id, name, template_id, segment_id, deposit_amount,
      deposit_from, currency_override, schedule_at, max_liability, max_grants, rate_per_second,
      daily_budget_base, pace, qualifying_product, advertising, holdout_percent, status, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${campaign_id}, ${plan.name}, ${plan.template_id}, ${plan.segment_id},
      ${plan.deposit_amount}::text::numeric, ${plan.deposit_from}, ${plan.currency_override}, ${plan.schedule_at},
      ${plan.max_liability}, ${plan.max_grants}, ${plan.rate_per_second}, ${plan.daily_budget_base}, ${plan.pace}, ${plan.qualifying_product},
      ${plan.advertising}, ${plan.holdout_percent}, ${plan.status}, ${now}, ${now})
    returning ${campaignColumns(tx)}`;
  if (row === undefined) throw new Error('a campaign that was inserted was not returned');
  return row;
}

/** The columns that change after the creation, but for those that only the release writes. */
export type BonusCampaignChange = Omit<
  BonusCampaignRow,
  keyof BonusCampaignRef | 'release_error' | 'created_at' | 'updated_at'
>;

/** Writes the columns of a locked campaign; returns the row as it is then. */
export async function updateBonusCampaign(
  tx: Tx,
  ref: BonusCampaignRef,
  row: BonusCampaignChange,
  now: Date,
): Promise<BonusCampaignRow> {
  const [changed] = await tx<BonusCampaignRow[]>`
    update bonus_campaigns c set
      name = ${row.name}, template_id = ${row.template_id}, segment_id = ${row.segment_id},
      deposit_amount = ${row.deposit_amount}::text::numeric, deposit_from = ${row.deposit_from},
      currency_override = ${row.currency_override}, schedule_at = ${row.schedule_at},
      max_liability = ${row.max_liability}, max_grants = ${row.max_grants}, rate_per_second = ${row.rate_per_second},
      daily_budget_base = ${row.daily_budget_base}, pace = ${row.pace}, qualifying_product = ${row.qualifying_product}, issued_product = ${row.issued_product},
      advertising = ${row.advertising}, holdout_percent = ${row.holdout_percent},
      status = ${row.status}, members = ${row.members}, is_filled = ${row.is_filled}, filled_to = ${row.filled_to},
      last_error = ${row.last_error}, updated_at = ${now}, issued_at = ${row.issued_at}, finished_at = ${row.finished_at}
    where ${isCampaign(tx, ref)}
    returning ${campaignColumns(tx)}`;
  if (changed === undefined) throw new Error(`campaign ${ref.campaign_id} has vanished`);
  return changed;
}
