import { requireLiveRow, requireRow } from '../../http/record.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { auditCampaign, auditVariant, type ChangeDeps } from './change.ts';
import {
  insertCampaign,
  selectCampaign,
  selectLiveVariants,
  selectNamed,
  selectTemplateStates,
  type CampaignPlan,
  type CampaignRef,
  type CampaignRow,
  type VariantRow,
} from './queries.ts';
import { CAMPAIGN } from './read.ts';
import { insertVariant, setDefaultVariant } from './variant-queries.ts';

const MAX_NAME = 200;

/**
 * A draft with what the campaign has: audience, content, goal, and its variants with their weights; not when it is sent.
 * What of it does not exist any more is empty in the copy, a variant without its template is omitted. `name` undefined:
 * `Copy of …`. Rejects with CAMPAIGN_NOT_FOUND.
 */
export async function duplicateCampaign(
  { postgres, clock, audit }: ChangeDeps,
  source: CampaignRef,
  name: string | undefined,
): Promise<CampaignRow> {
  const copy = { ...source, campaign_id: newId() };
  const now = new Date(clock.now_ms());
  return postgres.asTenant(source.tenant_id, async (tx) => {
    const [found] = await selectCampaign(tx, source);
    const row = requireLiveRow(CAMPAIGN, source, requireRow(CAMPAIGN, source, found));
    const plan = await planOf(tx, source, row, name ?? `Copy of ${row.name}`.slice(0, MAX_NAME));
    await insertCampaign(tx, copy, plan, now);
    const kept = await keptVariants(tx, source);
    // A campaign always has its default variant, which gives way to others.
    const fallback = { name: 'default', label: 'default', template_id: null, weight: 100, sort_order: 0 };
    for (const variant of [{ ...fallback, is_default: true }, ...kept])
      await insertVariant(tx, { ...copy, variant_id: newId() }, variant, now);
    if (kept.length > 0) await setDefaultVariant(tx, copy, 'given way', now);
    const campaign = await auditCampaign(audit, tx, copy, null);
    const as = { resource: 'campaign_variant', action: 'create' } as const;
    for (const variant of await selectLiveVariants(tx, copy))
      await auditVariant(audit, tx, copy, null, variant, as);
    return campaign;
  });
}

/** The variants of their own whose template exists. */
async function keptVariants(tx: Tx, source: CampaignRef): Promise<VariantRow[]> {
  const own = (await selectLiveVariants(tx, source)).filter((one) => !one.is_default);
  const template_ids = own.flatMap(({ template_id }) => template_id ?? []);
  const states = template_ids.length === 0 ? [] : await selectTemplateStates(tx, source, template_ids);
  const existing = new Set(states.map(({ template_id }) => template_id));
  return own.filter(({ template_id }) => existing.has(template_id ?? ''));
}

async function planOf(tx: Tx, source: CampaignRef, row: CampaignRow, name: string): Promise<CampaignPlan> {
  const {
    type,
    channel,
    trigger_event,
    goal_event,
    goal_attribution_days,
    goal_value_property,
    holdout_percent,
    send_time,
  } = row;
  const named = await selectNamed(tx, source, row);
  return {
    name,
    type,
    channel,
    segment_id: named.segment_exists ? row.segment_id : null,
    template_id: named.template_channel === channel ? row.template_id : null,
    provider_id: named.provider_channel === channel ? row.provider_id : null,
    schedule_at: null,
    trigger_event,
    goal_event,
    goal_attribution_days,
    goal_value_property,
    holdout_percent,
    send_time,
    status: 'draft',
  };
}
