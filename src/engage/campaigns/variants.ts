import { ApiError, validationError } from '../../errors.ts';
import { requireRow } from '../../http/record.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { auditVariant, lockExisting, requireChangeable, type ChangeDeps } from './change.ts';
import {
  selectLiveVariants,
  selectNamed,
  type CampaignRef,
  type CampaignRow,
  type VariantRow,
} from './queries.ts';
import { VARIANT } from './read.ts';
import type { CreateVariantBody, PatchVariantBody } from './schema.ts';
import {
  insertVariant,
  setDefaultVariant,
  softDeleteVariant,
  updateVariant,
  type VariantRef,
} from './variant-queries.ts';

/** Explicit variants of one campaign. */
const MAX_VARIANTS = 50;

/**
 * Adds a variant to a campaign that is draft or scheduled; the first one replaces the default variant. Rejects with
 * CAMPAIGN_NOT_FOUND, CAMPAIGN_INVALID_STATUS or VALIDATION_ERROR.
 */
export async function createVariant(
  { postgres, clock, audit }: ChangeDeps,
  campaign: CampaignRef,
  { name, label = name, template_id, weight, sort_order }: CreateVariantBody,
): Promise<VariantRow> {
  const ref = { ...campaign, variant_id: newId() };
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = await lockExisting(tx, ref);
    requireChangeable(row, 'given variants');
    await checkTemplate(tx, ref, row, template_id);
    const live = await selectLiveVariants(tx, ref);
    const others = live.filter((one) => !one.is_default);
    if (others.length >= MAX_VARIANTS) {
      throw validationError([{ path: '', message: `a campaign has at most ${MAX_VARIANTS} variants` }]);
    }
    if (others.length === 0) {
      await setDefaultVariant(tx, ref, 'given way', now);
      const [gone = null] = live;
      const as = { resource: 'campaign_variant', action: 'delete' } as const;
      await auditVariant(audit, tx, ref, gone, null, as);
    }
    const last = Math.max(-1, ...others.map((one) => one.sort_order));
    const plan = { name, label, template_id, weight, sort_order: sort_order ?? last + 1 };
    await insertVariant(tx, ref, { ...plan, is_default: false }, now);
    return auditVariant(audit, tx, ref, null, await pick(tx, ref));
  });
}

/**
 * Changes a variant of a campaign that is draft or scheduled. The weight may also change later, for messages that are
 * made afterwards (spec part 4). The default variant has the campaign's template, which only the campaign changes.
 * Rejects with CAMPAIGN_NOT_FOUND, VARIANT_NOT_FOUND, CAMPAIGN_INVALID_STATUS or VALIDATION_ERROR.
 */
export async function changeVariant(
  { postgres, clock, audit }: ChangeDeps,
  ref: VariantRef,
  patch: PatchVariantBody,
): Promise<VariantRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const campaign = await lockExisting(tx, ref);
    const row = await pick(tx, ref);
    if (!isReweighing(patch)) requireChangeable(campaign, 'changed');
    const { template_id = row.template_id } = patch;
    if (patch.template_id !== undefined && template_id !== row.template_id) {
      if (row.is_default) {
        const message = "the default variant has the campaign's template: change it there, or add a variant";
        throw validationError([{ path: 'template_id', message }]);
      }
      await checkTemplate(tx, ref, campaign, patch.template_id);
    }
    const { name = row.name, label = row.label, weight = row.weight, sort_order = row.sort_order } = patch;
    await updateVariant(tx, ref, { name, label, template_id, weight, sort_order }, now);
    return auditVariant(audit, tx, ref, row, await pick(tx, ref));
  });
}

/**
 * Soft delete; after the last explicit variant the default variant is restored. Resolves with the variant as it was.
 * Rejects with CAMPAIGN_NOT_FOUND, VARIANT_NOT_FOUND, CAMPAIGN_INVALID_STATUS, or with CONFLICT for the default
 * variant.
 */
export async function deleteVariant(
  { postgres, clock, audit }: ChangeDeps,
  ref: VariantRef,
): Promise<VariantRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const campaign = await lockExisting(tx, ref);
    const row = await pick(tx, ref);
    requireChangeable(campaign, 'changed');
    if (row.is_default) {
      throw new ApiError(
        'CONFLICT',
        'a campaign has at least one variant: adding another one removes the default variant',
      );
    }
    await softDeleteVariant(tx, ref, now);
    await auditVariant(audit, tx, ref, row, null);
    if ((await selectLiveVariants(tx, ref)).length === 0) {
      await setDefaultVariant(tx, ref, 'back', now);
      const [back = null] = await selectLiveVariants(tx, ref);
      const as = { resource: 'campaign_variant', action: 'create' } as const;
      await auditVariant(audit, tx, ref, null, back, as);
    }
    return row;
  });
}

/** The variant that the id names. Rejects with VARIANT_NOT_FOUND. */
async function pick(tx: Tx, ref: VariantRef): Promise<VariantRow> {
  const wanted = ref.variant_id.toLowerCase();
  const row = (await selectLiveVariants(tx, ref)).find(({ variant_id }) => variant_id === wanted);
  return requireRow(VARIANT, ref, row);
}

/** Whether the patch changes only the weight, which applies to messages that are made afterwards. */
function isReweighing(patch: PatchVariantBody): boolean {
  return Object.keys(patch).every((key) => key === 'weight');
}

/** Throws VALIDATION_ERROR unless the template exists and is of the campaign's channel. */
async function checkTemplate(
  tx: Tx,
  ref: CampaignRef,
  { channel }: CampaignRow,
  template_id: string,
): Promise<void> {
  const { template_channel } = await selectNamed(tx, ref, {
    segment_id: null,
    template_id,
    provider_id: null,
  });
  if (template_channel === channel) return;
  const message =
    template_channel === null
      ? 'must be a template of this project'
      : `is for ${template_channel}, the campaign's channel is ${channel}`;
  throw validationError([{ path: 'template_id', message }]);
}
