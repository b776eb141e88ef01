import { playerEventRecord, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Outbox } from '../../platform/outbox.ts';
import { markPublished, selectToPublish, type ToPublish } from './queries.ts';

/**
 * The events of applied decisions, which segments, journeys and timelines are to see. An event that is appended again has
 * the same ids.
 */
export const KYC_EVENTS: Outbox<ToPublish> = {
  name: 'kyc-events',
  topic: TOPICS.playerEvents,
  max_rows: 1_000,
  read: selectToPublish,
  recordsOf: (rows) => rows.map((row) => playerEventRecord(eventOf(row))),
  remove: markPublished,
};

/** Who said it, in the words of events. */
const SOURCES = { webhook: 'adapter', api: 'api', clock: 'clock', event: 'event' } as const;

function eventOf(row: ToPublish): PlayerEvent {
  const { tenant_id, project_id, player_id, event, level, expires_at, kyc_status, source } = row;
  return {
    tenant_id,
    project_id,
    event,
    player_id,
    occurred_at: row.occurred_at.getTime(),
    received_at: row.received_at.getTime(),
    ingestion_id: row.decision_id,
    event_index: 0,
    base_amount: null,
    base_payout: null,
    properties: {
      source: SOURCES[source],
      kyc_status,
      ...(level === null ? {} : { level }),
      ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
    },
  };
}
