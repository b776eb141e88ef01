import { v5 } from 'uuid';
import { definitionOf } from '../../ingest/events/catalogue.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { SendFeedback } from '../../analytics/send-mirror-queries.ts';

/** The index of a stage is the `event_index` of its event, so the order must never change. */
const STAGES = ['sent', 'opened', 'clicked', 'bounced'] as const;

/** The UUID v5 namespace in which a send_id gives the ingestion_id of its events. */
const NAMESPACE = '6f0f4c1e-8a1d-4b57-9f39-1d6a3f6f2b60';

/** Events that the client SDK reports: they are on the log already. */
const REPORTED_BY_SDK: ReadonlySet<string> = new Set(['push_opened', 'push_clicked']);

/**
 * The events of a message (spec part 6, "Messaging feedback"): one for each stage that it has reached, if the catalogue
 * has an event for the channel and stage. Idempotent: a repeat gives events with the same ids, which are recognised as
 * duplicates. Their `received_at` is the time of the stage, so they fire no campaign that was started after it.
 */
export function feedbackEventsOf(send: SendFeedback): PlayerEvent[] {
  const { tenant_id, project_id, player_id, send_id, channel } = send;
  const { campaign_id, journey_id, journey_run_id, variant_id, template_id } = send;
  return STAGES.flatMap((stage, event_index) => {
    const event = `${channel}_${stage}`;
    const at_ms = send[`${stage}_ms`];
    if (at_ms === null || definitionOf(event) === undefined || REPORTED_BY_SDK.has(event)) return [];
    return {
      tenant_id,
      project_id,
      event,
      player_id,
      occurred_at: Number(at_ms),
      received_at: Number(at_ms),
      ingestion_id: v5(send_id, NAMESPACE),
      event_index,
      base_amount: null,
      base_payout: null,
      properties: { campaign_id, journey_id, journey_run_id, variant_id, template_id, send_id },
    };
  });
}
