import { v5 as uuidv5 } from 'uuid';
import { MESSAGE_STATUSES } from '../../analytics/message-status.ts';
import { GRANT_STATUSES } from '../../bonuses/grants/transition.ts';
import { exactJson } from '../../platform/exact-json.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

const SEGMENT_EVENTS = ['segment.entered', 'segment.left'] as const;
const MESSAGE_EVENTS = MESSAGE_STATUSES.map((status) => `message.${status}` as const);
const GRANT_EVENTS = GRANT_STATUSES.map((status) => `grant.${status}` as const);

/** What a subscription may be sent: the triggers of pg-migrations/024 note it under these names. */
export const SUBSCRIBED_EVENTS = [
  ...SEGMENT_EVENTS,
  'tier.changed',
  ...MESSAGE_EVENTS,
  ...GRANT_EVENTS,
  'exclusion.set',
  'exclusion.ended',
] as const;
export type SubscribedEvent = (typeof SUBSCRIBED_EVENTS)[number];

/** The event of a test delivery; nobody subscribes to it. */
export const TEST_EVENT = 'subscription.test';

/** A row of the outbox: what happened, and to whom. */
export interface Fact extends ProjectRef {
  fact_id: bigint;
  event: SubscribedEvent;
  /** With the player it makes the id of the event. */
  fact_key: string;
  player_ids: string[];
  /** Ids and codes. */
  data: Record<string, unknown>;
  occurred_at: Date;
}

/** What a subscription asks for. */
export interface Wanted {
  events: readonly string[];
  /** Null: of all segments. */
  segment_ids: readonly string[] | null;
}

/** Whether a subscription is sent a fact. Segments narrow the events of segments only. */
export function isWanted(
  { events, segment_ids }: Wanted,
  { event, data }: Pick<Fact, 'event' | 'data'>,
): boolean {
  if (!events.includes(event)) return false;
  if (segment_ids === null || !(SEGMENT_EVENTS as readonly string[]).includes(event)) return true;
  return segment_ids.includes(String(data['segment_id']));
}

/** The id of an event for a subscription: the same whenever the fact is noted, queued or sent again. */
export function eventIdOf(
  subscription_id: string,
  { fact_key }: Pick<Fact, 'fact_key'>,
  player_id: string,
): string {
  return uuidv5(`${fact_key} ${player_id}`, subscription_id);
}

/** What a body is made of. */
export interface EventBody extends ProjectRef {
  event: string;
  event_id: string;
  subscription_id: string;
  /** The number of the event among those of the subscription. */
  sequence: bigint;
  occurred_at: Date;
  /** Null: the event is about no player. */
  player: { id: string; external_id: string | null } | null;
  data: Readonly<Record<string, unknown>>;
}

/** The body as JSON, made once and kept: it has ids and codes, and no other data of a person. */
export function payloadOf(body: EventBody): string {
  const { event, event_id, occurred_at, tenant_id, project_id, subscription_id, sequence, player, data } =
    body;
  return exactJson({
    event,
    event_id,
    ts: occurred_at.toISOString(),
    tenant_id,
    project_id,
    subscription_id,
    sequence,
    player,
    data,
  });
}
