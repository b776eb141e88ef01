import { v5 } from 'uuid';
import { deleteStages, selectReachedStages, type ReachedStage } from '../../analytics/stage-queries.ts';
import { definitionOf } from '../../ingest/events/catalogue.ts';
import { playerEventRecord, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Outbox } from '../../platform/outbox.ts';

/** The index of a stage is the `event_index` of its event, so the order must never change. */
const STAGES: readonly ReachedStage['stage'][] = ['sent', 'opened', 'clicked', 'bounced'];

/** The UUID v5 namespace in which a send_id gives the ingestion_id of its events. */
const NAMESPACE = '6f0f4c1e-8a1d-4b57-9f39-1d6a3f6f2b60';

/** Events that the client SDK reports: they are on the log already. */
const REPORTED_BY_SDK: ReadonlySet<string> = new Set(['push_opened', 'push_clicked']);

/**
 * The events of messages (spec part 6, "Messaging feedback"), which segments, campaigns and journeys are to see. An event
 * that is appended again has the same ids and times.
 */
export const MESSAGE_EVENTS: Outbox<ReachedStage> = {
  name: 'message-events',
  topic: TOPICS.playerEvents,
  max_rows: 10_000,
  read: selectReachedStages,
  recordsOf: (stages) => stages.flatMap(feedbackEventsOf).map(playerEventRecord),
  remove: deleteStages,
};

/**
 * The event of a stage; none where the catalogue has none for the channel. Its `received_at` is the time of the stage, so
 * it fires no campaign that was started after it.
 */
export function feedbackEventsOf({ message, ...reached }: ReachedStage): PlayerEvent[] {
  const { tenant_id, project_id, send_id, stage } = reached;
  if (message === null) return [];
  const { player_id, channel, ...ids } = message;
  const event = `${channel}_${stage}`;
  if (definitionOf(event) === undefined || REPORTED_BY_SDK.has(event)) return [];
  const at_ms = reached.reached_at.getTime();
  return [
    {
      tenant_id,
      project_id,
      event,
      player_id,
      occurred_at: at_ms,
      received_at: at_ms,
      ingestion_id: v5(send_id, NAMESPACE),
      event_index: STAGES.indexOf(stage),
      base_amount: null,
      base_payout: null,
      properties: { ...ids, send_id },
    },
  ];
}
