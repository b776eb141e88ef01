import type { Channel } from '../../tenants/config/channels.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { CampaignRef, VariantRow } from './queries.ts';

/** The key of a variant. */
export interface VariantRef extends CampaignRef {
  variant_id: string;
}

/** The fields of a variant that may change; `template_id` null: the campaign's template. */
export type VariantPlan = Pick<VariantRow, 'name' | 'label' | 'template_id' | 'weight' | 'sort_order'>;

function ofCampaign(tx: Tx, { tenant_id, project_id, campaign_id }: CampaignRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}`;
}

export async function insertVariant(
  tx: Tx,
  ref: VariantRef,
  plan: VariantPlan & { is_default: boolean },
  now: Date,
): Promise<void> {
  await tx`
    insert into campaign_variants (tenant_id, project_id, campaign_id, variant_id, name, label, template_id, weight,
      sort_order, is_default, created_at, updated_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${ref.campaign_id}, ${ref.variant_id}, ${plan.name}, ${plan.label},
      ${plan.template_id}, ${plan.weight}, ${plan.sort_order}, ${plan.is_default}, ${now}, ${now})`;
}

/** Writes the fields of a variant; the template of the default variant stays null, even if `plan` has one. */
export async function updateVariant(tx: Tx, ref: VariantRef, plan: VariantPlan, now: Date): Promise<void> {
  await tx`
    update campaign_variants set name = ${plan.name}, label = ${plan.label},
      template_id = case when not is_default then ${plan.template_id}::uuid end, weight = ${plan.weight},
      sort_order = ${plan.sort_order}, updated_at = ${now}
    where ${ofCampaign(tx, ref)} and variant_id = ${ref.variant_id}`;
}

/** Marks the variant as deleted. */
export async function softDeleteVariant(tx: Tx, ref: VariantRef, now: Date): Promise<void> {
  await tx`
    update campaign_variants set deleted_at = ${now}, updated_at = ${now}
    where ${ofCampaign(tx, ref)} and variant_id = ${ref.variant_id} and deleted_at is null`;
}

/**
 * Deletes the default variant when there are explicit ones (`given way`), or restores it when there are none (`back`).
 */
export async function setDefaultVariant(
  tx: Tx,
  ref: CampaignRef,
  state: 'given way' | 'back',
  now: Date,
): Promise<void> {
  await tx`
    update campaign_variants set deleted_at = ${state === 'back' ? null : now}, updated_at = ${now}
    where ${ofCampaign(tx, ref)} and is_default`;
}

/** The explicit variants whose template is of another channel, or does not exist. */
export async function selectMismatchedVariants(
  tx: Tx,
  ref: CampaignRef,
  channel: Channel,
): Promise<{ variant_id: string }[]> {
  return tx<{ variant_id: string }[]>`
    select v.variant_id
    from campaign_variants v
    left join templates t on t.tenant_id = v.tenant_id and t.project_id = v.project_id
      and t.template_id = v.template_id and t.channel = ${channel}
    where v.tenant_id = ${ref.tenant_id} and v.project_id = ${ref.project_id} and v.campaign_id = ${ref.campaign_id}
      and v.deleted_at is null and not v.is_default and t.template_id is null
    order by v.sort_order, v.variant_id`;
}
