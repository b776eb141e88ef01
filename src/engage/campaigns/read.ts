import { requireLiveRow, requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectCampaign, type CampaignRef, type CampaignRow, type VariantRow } from './queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { COUNTERS } from './counts-queries.ts';
import type { Counts } from './counts.ts';

/** The names of campaigns in paths, ids and errors. */
export const CAMPAIGN = {
  scope: 'project',
  noun: 'campaign',
  id: 'campaign_id',
  not_found: 'CAMPAIGN_NOT_FOUND',
} as const;

/** The names of variants in paths, ids and errors. */
export const VARIANT = {
  scope: 'project',
  noun: 'variant',
  id: 'variant_id',
  not_found: 'VARIANT_NOT_FOUND',
} as const;

/** The campaign that the id names, deleted or not. Rejects with CAMPAIGN_NOT_FOUND. */
export async function findCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaign(tx, ref));
  return requireRow(CAMPAIGN, ref, row);
}

/** The campaign that the id names. Rejects with CAMPAIGN_NOT_FOUND, also when it is deleted. */
export async function requireCampaign(postgres: Postgres, ref: CampaignRef): Promise<CampaignRow> {
  return requireLiveRow(CAMPAIGN, ref, await findCampaign(postgres, ref));
}

/** The campaign resource (spec part 2). */
export function campaignResourceOf(row: CampaignRow, { tenant_id, project_id }: ProjectRef) {
  return {
    id: row.campaign_id,
    tenant_id,
    project_id,
    name: row.name,
    type: row.type,
    segment_id: row.segment_id,
    template_id: row.template_id,
    provider_id: row.provider_id,
    channel: row.channel,
    schedule_at: row.schedule_at,
    trigger_event: row.trigger_event,
    goal_event: row.goal_event,
    goal_attribution_days: row.goal_attribution_days,
    goal_value_property: row.goal_value_property,
    holdout_percent: row.holdout_percent,
    send_time: row.send_time,
    status: row.status,
    started_at: row.started_at,
    finished_at: row.finished_at,
    last_error: row.last_error,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}

/** The variant resource (spec part 2). */
export function variantResourceOf(campaign_id: string, { variant_id, ...row }: VariantRow) {
  return {
    id: variant_id,
    campaign_id,
    name: row.name,
    label: row.label,
    template_id: row.template_id,
    weight: row.weight,
    sort_order: row.sort_order,
    is_default: row.is_default,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** The counters, and the rates between them as fractions (spec part 4); a rate of nothing is 0. */
export function statsOf({ campaign_id, status }: CampaignRow, counts: Counts) {
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, counts[name] ?? 0])) as Record<
    (typeof COUNTERS)[number],
    number
  >;
  const { sent, delivered, opened, clicked, bounced } = counters;
  const rates = {
    delivered_rate: rate(delivered, sent),
    open_rate: rate(opened, delivered),
    click_rate: rate(clicked, delivered),
    bounce_rate: rate(bounced, sent),
  };
  return { campaign_id, status, counters, rates, machine_opened: counts.machine_opened ?? 0 };
}

/** `part` / `whole`; 0 when `whole` is 0. */
export function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
