import type { PendingQuery, Row } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { bonusProductSql } from '../messaging/gate-queries.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx, Db } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { CampaignFilters, CampaignStatus, CampaignType, SendTime } from './schema.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { namingSegment } from '../../segments/reference-queries.ts';

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
  /** The share of those who pass the gate that gets nothing, in percent: 0 … 100. */
  holdout_percent: number;
  /** Null: to all members at once. */
  send_time: SendTime | null;
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
  /** False: messages from before `campaign_counts` are not in it yet. */
  is_counted: boolean;
}

function columns(tx: Tx) {
  return tx`campaign_id, name, type, channel, segment_id, template_id, provider_id, schedule_at, trigger_event,
    goal_event, goal_attribution_days, goal_value_property, holdout_percent, send_time, status, started_at, finished_at,
    last_error, created_at, updated_at, deleted_at, is_counted`;
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
      provider_id, schedule_at, trigger_event, goal_event, goal_attribution_days, goal_value_property, holdout_percent, send_time,
      status, created_at, updated_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${ref.campaign_id}, ${plan.name}, ${plan.type}, ${plan.channel},
      ${plan.segment_id}, ${plan.template_id}, ${plan.provider_id}, ${plan.schedule_at}, ${plan.trigger_event},
      ${plan.goal_event}, ${plan.goal_attribution_days}, ${plan.goal_value_property}, ${plan.holdout_percent}, ${plan.send_time},
      ${plan.status}, ${now}, ${now})`;
}

/** Writes the fields of a locked campaign. */
export async function updateCampaign(tx: Tx, ref: CampaignRef, plan: CampaignPlan, now: Date): Promise<void> {
  await tx`
    update campaigns set
      name = ${plan.name}, type = ${plan.type}, channel = ${plan.channel}, segment_id = ${plan.segment_id},
      template_id = ${plan.template_id}, provider_id = ${plan.provider_id}, schedule_at = ${plan.schedule_at},
      trigger_event = ${plan.trigger_event}, goal_event = ${plan.goal_event},
      goal_attribution_days = ${plan.goal_attribution_days}, goal_value_property = ${plan.goal_value_property},
      holdout_percent = ${plan.holdout_percent}, send_time = ${plan.send_time}, status = ${plan.status}, updated_at = ${now}
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
  /** Its template is for service messages: the project's holdout does not keep it back. */
  is_service: boolean;
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
      ${bonusProductSql(tx)} as bonus_product, coalesce(t.purpose = 'service', false) as is_service,
      v.weight, v.sort_order, v.is_default, v.created_at, v.updated_at
    from campaigns c
    join campaign_variants v using (tenant_id, project_id, campaign_id)
    left join templates t on t.tenant_id = c.tenant_id and t.project_id = c.project_id
      and t.template_id = coalesce(v.template_id, c.template_id)
    where c.tenant_id = ${ref.tenant_id} and c.project_id = ${ref.project_id} and c.campaign_id = ${ref.campaign_id}
      and v.deleted_at is null
    order by v.sort_order, v.variant_id`;
}

/** The most campaigns that are marked as sent at once. */
const MAX_FINISHED = 1_000;

/** The templates of these ids that exist and are not deleted, and whether each is active. */
export async function selectTemplateStates(
  tx: Tx,
  { tenant_id, project_id }: Pick<CampaignRef, 'tenant_id' | 'project_id'>,
  template_ids: readonly string[],
): Promise<{ template_id: string; name: string; is_active: boolean }[]> {
  return tx<{ template_id: string; name: string; is_active: boolean }[]>`
    select template_id, name, status = 'active' as is_active from templates
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and template_id in ${tx(template_ids)}`;
}

/** Marks the campaign as `sending` through this provider. */
export async function markSending(tx: Tx, ref: CampaignRef, provider_id: string, now: Date): Promise<void> {
  await tx`
    update campaigns
    set status = 'sending', provider_id = ${provider_id}, started_at = ${now}, last_error = null, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}`;
}

/** Marks the campaign as `cancelled`. */
export async function markCancelled(tx: Tx, ref: CampaignRef, now: Date): Promise<void> {
  await tx`
    update campaigns set status = 'cancelled', finished_at = ${now}, retry_failed_until = null, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}`;
}

/** Makes a due campaign that could not be sent a draft again; `last_error` keeps the reason for its editor. */
export async function markUnsendable(tx: Tx, ref: CampaignRef, message: string, now: Date): Promise<void> {
  await tx`
    update campaigns set status = 'draft', schedule_at = null, last_error = ${message}, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}
      and status = 'scheduled' and schedule_at <= ${now}`;
}

/** Scheduled campaigns that are due, except those in `but_not`, the earliest `schedule_at` first. */
export function selectDueCampaigns(
  sql: Tx,
  now: Date,
  but_not: readonly string[],
  limit: number,
): PendingQuery<CampaignRef[]> {
  return sql<CampaignRef[]>`
    select tenant_id, project_id, campaign_id from campaigns
    where status = 'scheduled' and deleted_at is null and schedule_at <= ${now}
      and campaign_id <> all(${plainArray(but_not)}::text::uuid[])
    order by schedule_at limit ${limit}`;
}

/** Whether the campaign `c` has no range left to fan out and no message left to send or to retry. */
function isDone(tx: Tx): PendingQuery<Row[]> {
  return tx`c.status = 'sending' and c.type <> 'triggered' and c.retry_failed_until is null
      and not exists (
        select from member_ranges r
        where r.tenant_id = c.tenant_id and r.project_id = c.project_id and r.owner_id = c.campaign_id offset 0)
      and not exists (
        select from message_sends s
        where s.tenant_id = c.tenant_id and s.project_id = c.project_id
          and coalesce(s.queue_id, s.campaign_id) = c.campaign_id and s.status in ('queued', 'sending') offset 0)`;
}

/** Returns a row while a campaign is due, or is done and still marked as `sending`. */
export const campaignWork: WorkQuery = (sql, now) => sql`
  (select true as is_found from campaigns c where ${isDone(sql)} order by c.campaign_id limit 1)
  union all
  (select true from (${selectDueCampaigns(sql, now, [], 1)}) d)`;

/**
 * Marks campaigns as `sent` that have no range left to fan out and no message left to send or to retry. Triggered campaigns go on
 * until they are cancelled.
 *
 * A statement of its own locks the campaigns first, so that the next one sees messages that a transaction queued
 * meanwhile. Campaigns that are being changed are left for the next time.
 */
export async function finishCampaigns(sql: Db, now: Date): Promise<void> {
  await sql.begin(async (tx) => {
    const locked = await tx<{ campaign_id: string }[]>`
      select c.campaign_id from campaigns c where ${isDone(tx)}
      order by c.campaign_id limit ${MAX_FINISHED} for update skip locked`;
    const ids = plainArray(locked.map(({ campaign_id }) => campaign_id));
    if (locked.length === 0) return;
    await tx`
      update campaigns c set status = 'sent', finished_at = ${now}, updated_at = ${now}
      where c.campaign_id = any(${ids}::text::uuid[]) and ${isDone(tx)}`;
  });
}

/** The campaigns to the members of the segment, the newest first. */
export const campaignsOfSegment = namingSegment('campaign', {
  table: 'campaigns',
  id: 'campaign_id',
  segment_id: 'segment_id',
  counts: (tx) => tx`deleted_at is null`,
});
