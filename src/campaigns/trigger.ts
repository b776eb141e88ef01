import type { PlayerEvent } from '../events/envelope.ts';
import { tenantGateAt } from '../messaging/gate-at.ts';
import { chooseVariant } from '../messaging/variant-choice.ts';
import type { LogRecord } from '../platform/event-log/port.ts';
import type { Platform } from '../wiring/platform.ts';
import { selectLiveCampaign, selectLiveVariants } from './queries.ts';
import { notifyMessengers } from './send-queries.ts';
import {
  insertFirings,
  selectArmedCampaigns,
  selectPlayerZones,
  type ArmedCampaign,
} from './trigger-queries.ts';

type TriggerDeps = Pick<Platform, 'postgres' | 'clock'>;

/**
 * Fires triggered campaigns by resolved events: one row per event, for players who are in the segment at that time. Events
 * that were received before the campaign was sent fire nothing, and a repeated one fires once. Where no campaign waits,
 * one question is asked.
 */
export async function fireCampaigns(deps: TriggerDeps, records: readonly LogRecord[]): Promise<void> {
  const armed = await selectArmedCampaigns(deps.postgres.service);
  if (armed.length === 0) return;
  for (const campaign of armed) {
    const begins = `{"tenant_id":"${campaign.tenant_id}","project_id":"${campaign.project_id}","event":${JSON.stringify(campaign.trigger_event)},`;
    const events = records
      .filter(({ value }) => value.startsWith(begins))
      .map(({ value }) => JSON.parse(value) as PlayerEvent)
      .filter(({ received_at }) => received_at >= campaign.started_at.getTime());
    if (events.length > 0) await fire(deps, campaign, events);
  }
}

async function fire(
  { postgres, clock }: TriggerDeps,
  campaign: ArmedCampaign,
  events: readonly PlayerEvent[],
): Promise<void> {
  const { campaign_id } = campaign;
  const now = new Date(clock.now_ms());
  await postgres.service.begin(async (tx) => {
    // Cancelled meanwhile: it fires no more.
    const current = await selectLiveCampaign(tx, campaign);
    if (current?.status !== 'sending') return;
    const variants = await selectLiveVariants(tx, campaign);
    const player_ids = [...new Set(events.map(({ player_id }) => player_id))];
    const gate = await tenantGateAt(tx, campaign, now, () => selectPlayerZones(tx, campaign, player_ids));
    const firings = events.map(({ player_id, ingestion_id, event_index, properties }) => ({
      player_id,
      occasion: `${ingestion_id}:${event_index}`,
      properties,
      variant: chooseVariant(campaign_id, player_id, variants),
    }));
    if ((await insertFirings(tx, campaign, firings, gate)) > 0) await notifyMessengers(tx);
  });
}
