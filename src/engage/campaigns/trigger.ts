import { matchNow } from '../../segments/match-now.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Platform } from '../../platform/platform.ts';
import { tenantGateAt } from '../messaging/gate.ts';
import type { FiringEvent, ListenerRef, TriggerKind } from '../triggers/kind.ts';
import { selectLiveCampaign, selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';
import { notifyMessengers } from '../messaging/wake-queries.ts';
import {
  insertFirings,
  noteTriggerFailure,
  selectArmedCampaigns,
  selectPlayerZones,
} from './fan-out-queries.ts';
import { countRows, drawHoldout, variantChooser } from './fan-out.ts';

type TriggerDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'metrics'>;

/**
 * Triggered campaigns as listeners: an event makes one send row if its player matches the campaign's segment, as it is
 * defined, with the event included. Without a segment every player matches.
 */
export function campaignTriggers(deps: TriggerDeps): TriggerKind {
  const { postgres } = deps;
  return {
    kind: 'campaign',
    async listeners(sql, projects) {
      const armed = await selectArmedCampaigns(sql, projects);
      return armed.map(({ tenant_id, project_id, campaign_id, trigger_event, started_at }) => {
        return { tenant_id, project_id, listener_id: campaign_id, event: trigger_event, since: started_at };
      });
    },
    async open(listener) {
      const ref = campaignOf(listener);
      const campaign = await selectLiveCampaign(postgres.service, ref);
      if (campaign?.status !== 'sending') return undefined;
      const { segment_id } = campaign;
      return {
        reads_clickhouse: segment_id !== null,
        judge: (player_ids) =>
          segment_id === null
            ? Promise.resolve(new Set(player_ids))
            : matchNow(deps, { ...ref, segment_id }, player_ids),
        fire: (tx, events) => fire(deps, tx, { ...ref, ...campaign }, events),
      };
    },
    noteFailure: (listener, message) => noteTriggerFailure(postgres.service, campaignOf(listener), message),
  };
}

function campaignOf({ tenant_id, project_id, listener_id }: ListenerRef): CampaignRef {
  return { tenant_id, project_id, campaign_id: listener_id };
}

async function fire(
  { clock, metrics }: TriggerDeps,
  tx: Tx,
  campaign: CampaignRef & CampaignRow,
  events: readonly FiringEvent[],
): Promise<(() => void) | undefined> {
  const now = new Date(clock.now_ms());
  // A campaign that was cancelled meanwhile fires nothing.
  const current = await selectLiveCampaign(tx, campaign);
  if (current?.status !== 'sending') return undefined;
  const variants = await selectLiveVariants(tx, campaign);
  const player_ids = [...new Set(events.map(({ player_id }) => player_id))];
  const gate = await tenantGateAt(tx, campaign, now, () => selectPlayerZones(tx, campaign, player_ids));
  const variantOf = variantChooser(campaign.campaign_id, variants);
  const firings = events.map(({ player_id, event_key, event: { properties } }) => ({
    player_id,
    dedup_key: event_key,
    properties,
    variant: variantOf(player_id),
  }));
  const holdoutOf = await drawHoldout(tx, campaign, now);
  const made = await insertFirings(tx, campaign, firings, holdoutOf, gate);
  if (made.length > 0) await notifyMessengers(tx, campaign.campaign_id);
  return () => countRows(metrics, { channel: campaign.channel, made });
}
