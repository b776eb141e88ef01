import { v5 } from 'uuid';
import { definitionOf } from '../../ingest/events/catalogue.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { SendFeedback } from '../../analytics/send-mirror-queries.ts';

/** In the order of their index within a send; a number once given is never another stage's. */
const STAGES = ['sent', 'opened', 'clicked', 'bounced'] as const;

/** Makes ids of events out of ids of sends. */
const NAMESPACE = '6f0f4c1e-8a1d-4b57-9f39-1d6a3f6f2b60';

/** Events that the client SDK reports itself, which are there already. */
const REPORTED_BY_SDK: ReadonlySet<string> = new Set(['push_opened', 'push_clicked']);

/**
 * The events of a message (spec part 6, "Messaging feedback"): one for each stage that it has been through and that its
 * channel has a name for. Saying them again gives the same events, so that a repeat is one, and fires no campaign that
 * was sent after the stage.
 */
export function feedbackEventsOf(send: SendFeedback): PlayerEvent[] {
  const { tenant_id, project_id, player_id, send_id, campaign_id, variant_id, template_id, channel } = send;
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
      properties: { campaign_id, variant_id, template_id, send_id },
    };
  });
}
