import type { CampaignRow, VariantRow } from './queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

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
