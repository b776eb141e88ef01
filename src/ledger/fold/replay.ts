import { countsOf, eventMoneyOf } from '../money/counting.ts';
import { exceeds64Bits } from '../money/conversion.ts';
import { isMovementTooMany, judgeClaim, moneyKindOf, rowOfKey } from '../money/ledger.ts';
import { placedItem } from '../money/items.ts';
import { differsFrom, knownOf, worthOf } from './decide.ts';
import { takeItem, toPlayerEvent } from './emitted-event.ts';
import type { Decision, Emission, LogPlace, Snapshot } from './snapshot.ts';
import {
  amountOutOfRange,
  conflictingDuplicate,
  conflictingEventId,
  differingDuplicate,
  isReported,
  poisonRecord,
  sentKey,
  tooManyMovements,
  unknownPlayer,
  unknownProject,
  type FoldClaim,
  type FoldEvent,
  type Rejection,
} from './fold-event.ts';

/** What a replay emits, with `differing` as in a {@link Decision}. */
interface Replayed extends Emission, Pick<Decision, 'differing'> {}

/**
 * Emits again what events applied before a crash emitted, without applying anything. Each ledger row has the log
 * position of the event that claimed it, so each event gets the same verdict as the first time.
 */
export function replay(events: readonly FoldEvent[], snapshot: Snapshot, partition: number): Replayed {
  const emission: Replayed = { events: [], rejections: [], differing: [] };
  for (const event of events) {
    const { claim, record } = event;
    const owner = snapshot.projects.get(event.accepted.project_id);
    const player_id = snapshot.players.get(event.identity.key);
    const rows = claim === undefined ? [] : (snapshot.ledger.get(claim.reference_key) ?? []);
    const held = event.event_key === undefined ? undefined : snapshot.event_ids.get(event.event_key);
    const name =
      event.sent_id === undefined
        ? undefined
        : snapshot.sent_ids.get(sentKey(event.accepted.tenant_id, event.sent_id));
    const own = rows.find((row) => row.log_partition === partition && row.log_offset === record.offset);
    if (owner?.tenant_id !== event.accepted.tenant_id) {
      emission.rejections.push(unknownProject(event));
    } else if (player_id === undefined && event.identity.kind === 'player') {
      emission.rejections.push(unknownPlayer(event));
    } else if (name !== undefined && !isPlaceOf(name, record.offset, partition)) {
      // An event before it has its name, or one after it, because it was refused by Postgres.
      if (isAfter(name, record.offset, partition)) emission.rejections.push(poisonRecord(record));
    } else if (claim !== undefined && own === undefined) {
      const earlier = rows.filter((row) => row.log_partition !== partition || row.log_offset < record.offset);
      const verdict = judgeClaim(claim, player_id, earlier);
      if (verdict === 'new' && isMovementTooMany(claim, earlier))
        emission.rejections.push(tooManyMovements(event, claim));
      else if (verdict === 'new') emission.rejections.push(refusedAmount(event, claim, owner.base_currency));
      else if (isReported(event)) continue;
      else if (verdict === 'conflict') emission.rejections.push(conflictingDuplicate(event, claim));
      else if (differsFrom(rowOfKey(claim, earlier), claim))
        emission.differing.push(differingDuplicate(event, claim));
    } else if (held !== undefined && !isPlaceOf(held, record.offset, partition)) {
      if (isAfter(held, record.offset, partition)) emission.rejections.push(poisonRecord(record));
      else if (held.player_id !== player_id && !isReported(event))
        emission.rejections.push(conflictingEventId(event));
    } else if (player_id === undefined) {
      // An event without a claim creates its player when there is none, unless Postgres refuses the event's data.
      emission.rejections.push(poisonRecord(record));
    } else {
      const worth =
        own === undefined
          ? worthOf(event, owner.base_currency, snapshot)
          : eventMoneyOf(own, countsOf(rows).get(own));
      const emitted = toPlayerEvent(knownOf(event, player_id, snapshot), player_id, worth);
      if (own !== undefined) takeItem(emitted, placedItem(moneyKindOf(own.event), rows), snapshot);
      emission.events.push(emitted);
    }
  }
  return emission;
}

/** Whether the record at this place made the claim. */
function isPlaceOf({ log_partition, log_offset }: LogPlace, offset: bigint, partition: number): boolean {
  return log_partition === partition && log_offset === offset;
}

/** Whether a later record of the partition made the claim: the one at this place was refused then. */
function isAfter({ log_partition, log_offset }: LogPlace, offset: bigint, partition: number): boolean {
  return log_partition === partition && log_offset > offset;
}

/** The rejection of a new claim that has no ledger row: its amount is too large, or the player's total would be. */
function refusedAmount(event: FoldEvent, claim: FoldClaim, base_currency: string): Rejection {
  return exceeds64Bits(claim, base_currency) ? amountOutOfRange(event) : poisonRecord(event.record);
}
