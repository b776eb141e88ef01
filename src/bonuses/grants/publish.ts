import { playerEventRecord, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Outbox } from '../../platform/outbox.ts';
import { wireAmount } from '../templates/config.ts';
import { markPublished, selectToPublish, type ToPublish } from './publish-queries.ts';

/** The events of grants that segments and journeys are to see. An event that is appended again has the same ids. */
export const GRANT_EVENTS: Outbox<ToPublish> = {
  name: 'bonus-events',
  topic: TOPICS.playerEvents,
  max_rows: 1_000,
  read: selectToPublish,
  recordsOf: (events) => events.map((event) => playerEventRecord(playerEventOf(event))),
  remove: markPublished,
};

function playerEventOf(event: ToPublish): PlayerEvent {
  const amount = (digits: string | null) => (digits === null ? null : wireAmount(BigInt(digits)));
  return {
    tenant_id: event.tenant_id,
    project_id: event.project_id,
    event: event.log_event,
    player_id: event.player_id,
    // The clock of the platform may be ahead, but nothing happened after the report arrived.
    occurred_at: Math.min(event.occurred_at.getTime(), event.received_at.getTime()),
    received_at: event.received_at.getTime(),
    ingestion_id: event.ingestion_id,
    event_index: 0,
    base_amount: event.bonus_amount_base,
    // What the bonus has cost: insights add it up.
    base_payout: event.log_event === 'bonus_completed' ? event.released_amount_base : null,
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
