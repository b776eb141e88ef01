import type { Content } from './sender.ts';

interface EventFields {
  event: string;
  anonymous_id?: string | undefined;
  player_id?: string | undefined;
  /** For reference only: it names no player. `identify` links it to one. */
  external_id?: string | undefined;
  timestamp?: string | Date | undefined;
  properties?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * An event as `POST /v1/events` takes it. Its player is named by `anonymous_id` or `player_id`. Without a `timestamp` it
 * happens now. Large amounts may be `bigint`.
 */
export type EventInput = EventFields & ({ anonymous_id: string } | { player_id: string });

/** What `POST /v1/players/identify` takes. `user_hash`: HMAC-SHA256(client_secret, external_id) in hex, for client keys. */
export interface IdentifyInput {
  anonymous_id?: string | undefined;
  external_id?: string | undefined;
  player_id?: string | undefined;
  traits?: Readonly<Record<string, unknown>> | undefined;
  user_hash?: string | undefined;
}

/**
 * The event as it is sent. Its time is the present one unless it has one: an event that is sent again must have the same. A
 * session start has no id of its own, and gets a `dedupe_id`, by which it counts once.
 */
export function contentOf(event: EventFields, now_ms: number, newId: () => string): Content {
  const { properties } = event;
  const is_counted = event.event === 'session_start' && properties?.['dedupe_id'] === undefined;
  return {
    ...event,
    timestamp: new Date(event.timestamp ?? now_ms).toISOString(),
    ...(is_counted ? { properties: { ...properties, dedupe_id: newId() } } : {}),
  };
}
