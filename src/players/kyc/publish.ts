import { encodePlayerEvent, playerKey, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Platform } from '../../wiring/platform.ts';
import { markPublished, selectUnpublished, type UnpublishedRow } from './queries.ts';

const MAX_BATCH = 1_000;

/**
 * Appends the events of applied decisions to `player-events`, so that segments, journeys and timelines see them; returns
 * how many. After a crash in between they are appended again with the same ids, which later stages recognise.
 */
export async function publishDecisions({
  postgres,
  eventLog,
}: Pick<Platform, 'postgres' | 'eventLog'>): Promise<number> {
  const rows = await selectUnpublished(postgres.service, MAX_BATCH);
  if (rows.length === 0) return 0;
  const records = rows.map(eventOf).map((event) => ({
    key: playerKey(event.project_id, event.player_id),
    value: encodePlayerEvent(event),
  }));
  await eventLog.append(TOPICS.playerEvents, records);
  await markPublished(postgres.service, rows);
  return rows.length;
}

/** Who said it, in the words of events. */
const SOURCES = { webhook: 'adapter', api: 'api', clock: 'clock', event: 'event' } as const;

function eventOf(row: UnpublishedRow): PlayerEvent {
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
