import type { EventMoney, PlayerEvent } from '../../ingest/events/envelope.ts';
import { itemOf, takenItem } from '../money/items.ts';
import type { Item } from '../money/ledger.ts';
import type { FoldEvent } from './fold-event.ts';
import type { Snapshot } from './snapshot.ts';

/** Has an event say what its bet was `placed` as. Of an erased player it does not: what is left of their events is about money. */
export function takeItem(
  event: PlayerEvent,
  placed: Item | undefined,
  { erased }: Pick<Snapshot, 'erased'>,
): void {
  if (placed === undefined || erased.has(event.player_id)) return;
  const item = takenItem(itemOf(event.event, event.properties), placed);
  if (item !== undefined) Object.assign(event, item);
}

/** The resolved event, as the fold emits it to `player-events`. */
export function toPlayerEvent(
  event: FoldEvent,
  player_id: string,
  worth: EventMoney | undefined,
): PlayerEvent {
  const { tenant_id, project_id, ingestion_id, index, received_at_ms } = event.accepted;
  return {
    tenant_id,
    project_id,
    event: event.accepted.event.event,
    player_id,
    occurred_at: event.occurred_at_ms,
    received_at: received_at_ms,
    ingestion_id,
    event_index: index,
    base_amount: worth?.base_amount ?? null,
    base_payout: worth?.base_payout ?? null,
    base_bonus_stake: worth?.base_bonus_stake ?? null,
    base_bonus_payout: worth?.base_bonus_payout ?? null,
    stake_counted: worth?.stake_counted ?? null,
    payout_counted: worth?.payout_counted ?? null,
    bonus_stake_counted: worth?.bonus_stake_counted ?? null,
    bonus_payout_counted: worth?.bonus_payout_counted ?? null,
    properties: event.properties,
  };
}
