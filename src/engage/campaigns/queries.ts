import type { PendingQuery } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { bonusProductSql } from '../messaging/gate-queries.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { CampaignFilters, CampaignStatus, CampaignType } from './schema.ts';

/** The key of a campaign. */
export interface CampaignRef extends ProjectRef {
  campaign_id: string;
}

/** The fields of a campaign that may change before it is sent. */
export interface CampaignPlan {
  name: string;
  type: CampaignType;
  channel: Channel;
  /** Null: a triggered campaign is for every player, any other has no recipients. */
  segment_id: string | null;
  template_id: string | null;
  provider_id: string | null;
  schedule_at: Date | null;
  trigger_event: string | null;
  goal_event: string | null;
  goal_attribution_days: number | null;
  goal_value_property: string | null;
  status: CampaignStatus;
}

/** A campaign as Postgres has it. */
export interface CampaignRow extends CampaignPlan {
  campaign_id: string;
  started_at: Date | null;
  finished_at: Date | null;
  /** Why the campaign could not be sent when it was due, or why events that may fire it wait. */
  last_error: string | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

function columns(tx: Tx) {
  return tx`campaign_id, name, type, channel, segment_id, template_id, provider_id, schedule_at, trigger_event,
    goal_event, goal_attribution_days, goal_value_property, status, started_at, finished_at, last_error,
    created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, project_id, campaign_id }: CampaignRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

/** The campaign, deleted or not; no row when the project has no campaign of this id. */
export function selectCampaign(tx: Tx, ref: CampaignRef): PendingQuery<CampaignRow[]> {
  return tx<CampaignRow[]>`select ${columns(tx)} from campaigns where ${itself(tx, ref)}`;
}

/** The campaign, if it is not deleted, locked against change until the transaction ends. */
export async function lockCampaign(tx: Tx, ref: CampaignRef): Promise<CampaignRow | undefined> {
  const [row] = await tx<CampaignRow[]>`
    select ${columns(tx)} from campaigns where ${itself(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/**
 * The campaign as it is now, if it is not deleted. It is not locked, so that a cancellation does not wait for the
 * transactions that make rows. If one of these makes rows after the cancellation, the messenger skips them.
 */
export async function selectLiveCampaign(tx: Tx, ref: CampaignRef): Promise<CampaignRow | undefined> {
  const [row] = await tx<CampaignRow[]>`
    select ${columns(tx)} from campaigns where ${itself(tx, ref)} and deleted_at is null`;
  return row;
}

/** A page of the campaigns that are not deleted, the newest first. */
export function listCampaigns(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { status }: CampaignFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<CampaignRow>[]> {
  return tx<Listed<CampaignRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from campaigns
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${beyond(tx, 'created_at', 'campaign_id', after)}
      ${status === undefined ? tx`` : tx`and status = ${status}`}
    order by created_at desc, campaign_id desc
    limit ${limit}`;
}

export async function insertCampaign(tx: Tx, ref: CampaignRef, plan: CampaignPlan, now: Date): Promise<void> {
  await tx`
    insert into campaigns (tenant_id, project_id, campaign_id, name, type, channel, segment_id, template_id,
      provider_id, schedule_at, trigger_event, goal_event, goal_attribution_days, goal_value_property, status,
      created_at, updated_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${ref.campaign_id}, ${plan.name}, ${plan.type}, ${plan.channel},
      ${plan.segment_id}, ${plan.template_id}, ${plan.provider_id}, ${plan.schedule_at}, ${plan.trigger_event},
      ${plan.goal_event}, ${plan.goal_attribution_days}, ${plan.goal_value_property}, ${plan.status}, ${now}, ${now})`;
}

/** Writes the fields of a locked campaign. */
export async function updateCampaign(tx: Tx, ref: CampaignRef, plan: CampaignPlan, now: Date): Promise<void> {
  await tx`
    update campaigns set
      name = ${plan.name}, type = ${plan.type}, channel = ${plan.channel}, segment_id = ${plan.segment_id},
      template_id = ${plan.template_id}, provider_id = ${plan.provider_id}, schedule_at = ${plan.schedule_at},
      trigger_event = ${plan.trigger_event}, goal_event = ${plan.goal_event},
      goal_attribution_days = ${plan.goal_attribution_days}, goal_value_property = ${plan.goal_value_property},
      status = ${plan.status}, updated_at = ${now}
    where ${itself(tx, ref)}`;
}

/** Marks the campaign as deleted; one that was deleted before keeps its time. */
export async function softDeleteCampaign(tx: Tx, ref: CampaignRef, now: Date): Promise<void> {
  await tx`
    update campaigns set deleted_at = ${now}, updated_at = ${now} where ${itself(tx, ref)} and deleted_at is null`;
}

/** What the ids of a campaign refer to; null or false where it does not exist or is deleted. */
export interface Named {
  segment_exists: boolean;
  template_channel: Channel | null;
  provider_channel: Channel | null;
}

/** Looks up what a campaign or variant refers to; a null id refers to nothing. */
export async function selectNamed(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: { segment_id: string | null; template_id: string | null; provider_id: string | null },
): Promise<Named> {
  const [row] = await tx<Named[]>`
    select
      exists (select from segments where tenant_id = ${tenant_id} and project_id = ${project_id}
        and segment_id = ${ids.segment_id} and deleted_at is null) as segment_exists,
      (select channel from templates where tenant_id = ${tenant_id} and project_id = ${project_id}
        and template_id = ${ids.template_id} and deleted_at is null) as template_channel,
      (select channel from messaging_providers where tenant_id = ${tenant_id}
        and provider_id = ${ids.provider_id} and deleted_at is null) as provider_channel`;
  return row ?? { segment_exists: false, template_channel: null, provider_channel: null };
}

/** A variant as it is read, with its effective template. */
export interface VariantRow {
  variant_id: string;
  name: string;
  label: string;
  /** For the default variant: the campaign's template. */
  template_id: string | null;
  /** The product of the bonus that messages of the template are about; null: about none. */
  bonus_product: RuleProduct | null;
  weight: number;
  sort_order: number;
  /** Whether it is the variant that every campaign begins with; the first explicit variant replaces it. */
  is_default: boolean;
  created_at: Date;
  updated_at: Date;
}

/**
 * The variants that are not deleted, by sort_order and id; a campaign that exists has at least one. A variant without a
 * template of its own has the campaign's; `template_id` is null when the campaign has none either.
 */
export function selectLiveVariants(tx: Tx, ref: CampaignRef): PendingQuery<VariantRow[]> {
  return tx<VariantRow[]>`
    select v.variant_id, v.name, v.label, coalesce(v.template_id, c.template_id) as template_id,
      ${bonusProductSql(tx)} as bonus_product, v.weight, v.sort_order, v.is_default, v.created_at, v.updated_at
    from campaigns c
    join campaign_variants v using (tenant_id, project_id, campaign_id)
    left join templates t on t.tenant_id = c.tenant_id and t.project_id = c.project_id
      and t.template_id = coalesce(v.template_id, c.template_id)
    where c.tenant_id = ${ref.tenant_id} and c.project_id = ${ref.project_id} and c.campaign_id = ${ref.campaign_id}
      and v.deleted_at is null
    order by v.sort_order, v.variant_id`;
}
