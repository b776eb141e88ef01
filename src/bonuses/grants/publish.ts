import { encodePlayerEvent, playerKey, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Platform } from '../../wiring/platform.ts';
import { wireAmount } from '../templates/config.ts';
import { markPublished, selectToPublish, type ToPublish } from './publish-queries.ts';

const MAX_EVENTS = 1_000;

/**
 * Appends a batch of the events of grants to `player-events`, so that segments and journeys see them; returns whether
 * there are more. A crash before they are noted as published appends them again, with the same ids.
 */
export async function publishGrantEvents({
  postgres,
  eventLog,
}: Pick<Platform, 'postgres' | 'eventLog'>): Promise<boolean> {
  const events = await selectToPublish(postgres.service, MAX_EVENTS);
  if (events.length === 0) return false;
  await eventLog.append(
    TOPICS.playerEvents,
    events.map((event) => ({
      key: playerKey(event.project_id, event.player_id),
      value: encodePlayerEvent(playerEventOf(event)),
    })),
  );
  await markPublished(postgres.service, events);
  return events.length === MAX_EVENTS;
}

function playerEventOf(event: ToPublish): PlayerEvent {
  const amount = (digits: string | null) => (digits === null ? null : wireAmount(BigInt(digits)));
  return {
    tenant_id: event.tenant_id,
    project_id: event.project_id,
    event: event.log_event,
    player_id: event.player_id,
    // By the clock of the platform, which may be ahead: nothing happens after it was heard of.
    occurred_at: Math.min(event.occurred_at.getTime(), event.received_at.getTime()),
    received_at: event.received_at.getTime(),
    ingestion_id: event.ingestion_id,
    event_index: 0,
    base_amount: null,
    base_payout: null,
    properties: {
      source: 'adapter',
      adapter: event.adapter_slug,
      grant_id: event.grant_id,
      template_id: event.template_id,
      campaign_id: event.campaign_id,
      bonus_type: event.bonus_type,
      status: event.to_status,
      amount: amount(event.bonus_amount),
      currency: event.currency,
      wagering_required: amount(event.wagering_required),
      wagering_progress: amount(event.wagering_progress),
      released_amount: amount(event.released_amount),
    },
  };
}
