import type { z } from 'zod';
import type { BlockedRow, ExclusionRow } from './exclusion-queries.ts';
import type { blockedSend, exclusion } from './schema.ts';

/** When the time of the record ends, also a coming end; null: it is open. */
export function endOf({ ended_at, ends_at }: Pick<ExclusionRow, 'ended_at' | 'ends_at'>): Date | null {
  if (ended_at === null || ends_at === null) return ended_at ?? ends_at;
  return ended_at < ends_at ? ended_at : ends_at;
}

/** The record as the API shows it. */
export function exclusionJson(row: ExclusionRow, now: Date): z.infer<typeof exclusion> {
  const until = endOf(row);
  return {
    id: row.exclusion_id,
    player_id: row.player_id,
    external_id: row.external_id,
    merged_into: row.merged_into,
    kind: row.kind,
    state: until !== null && until <= now ? 'ended' : 'active',
    since: row.since.toISOString(),
    accepted_at: row.accepted_at.toISOString(),
    recorded_at: row.recorded_at.toISOString(),
    until: until?.toISOString() ?? null,
    cause: { source: row.source, ingestion_id: row.ingestion_id, event_index: row.event_index },
    end:
      row.end_source === null
        ? null
        : {
            source: row.end_source,
            ingestion_id: row.end_ingestion_id,
            event_index: row.end_event_index,
            lifted_at: row.lifted_at?.toISOString() ?? null,
          },
  };
}

/** The blocked message as the API shows it. */
export function blockedJson(row: BlockedRow): z.infer<typeof blockedSend> {
  return {
    id: row.send_id,
    player_id: row.player_id,
    external_id: row.external_id,
    channel: row.channel as z.infer<typeof blockedSend>['channel'],
    code: row.error_code as z.infer<typeof blockedSend>['code'],
    at: row.enqueued_at.toISOString(),
    campaign_id: row.campaign_id,
    campaign_name: row.campaign_name,
    journey_id: row.journey_id,
    journey_name: row.journey_name,
  };
}
