import { NIL_ID } from '../../platform/ids.ts';
import { HELD } from '../webhooks/turn-queries.ts';
import type { DeliveryState, EventDeliveryRow, ShownSubscription, SubscriptionRow } from './queries.ts';

/** What people change of a subscription: as the audit log shows it, and what its version is made from. */
export function imageOf(row: SubscriptionRow) {
  const { subscription_id: id, tenant_id, project_id, name, url, events, segment_ids, status } = row;
  const { created_at, updated_at, deleted_at } = row;
  const of_people = { id, tenant_id, project_id, name, url, events, segment_ids, status };
  return { ...of_people, created_at, updated_at, deleted_at };
}

/** The subscription as the API shows it: without its secret. */
export function subscriptionResourceOf(row: ShownSubscription) {
  const { created_at, updated_at, deleted_at, ...fields } = imageOf(row);
  const { replay_from, replayed, replay_ended_at } = row;
  const replay = replay_from && { from: replay_from, replayed: replayed ?? 0n, ended_at: replay_ended_at };
  return { ...fields, delivery: deliveryOf(row), replay, created_at, updated_at, deleted_at };
}

function deliveryOf(row: ShownSubscription) {
  const { pending, oldest_pending_at, failed, dropped, last_dropped_at, last_delivered_at } = row;
  const { error_code, error_status, error_at } = row;
  const last_error = error_code === null ? null : { code: error_code, status: error_status, at: error_at };
  const counts = { pending, oldest_pending_at, failed, dropped, last_dropped_at };
  return { state: stateOf(row), ...counts, last_delivered_at, last_error };
}

/** What a look at a subscription should say first. */
export function stateOf({
  status,
  is_failing,
  pending,
}: Pick<SubscriptionRow, 'status'> & Pick<DeliveryState, 'is_failing' | 'pending'>) {
  if (status === 'paused') return 'paused';
  if (is_failing) return 'failing';
  return pending > 0 ? 'delivering' : 'idle';
}

/** A delivery as the API shows it; one that waits for an earlier one of its player has no next attempt yet. */
export function eventDeliveryOf(row: EventDeliveryRow) {
  const is_due = row.status === 'pending' && row.next_at < HELD;
  return {
    event_id: row.event_id,
    sequence: row.sequence,
    event: row.event,
    player_id: row.player_id === NIL_ID ? null : row.player_id,
    status: row.status,
    attempts: row.attempts,
    next_attempt_at: is_due ? row.next_at : null,
    last_attempt_at: row.attempted_at,
    response_status: row.last_status,
    response: row.response,
    error_code: row.last_error,
    reason: row.last_reason,
    created_at: row.created_at,
    completed_at: row.completed_at,
  };
}
