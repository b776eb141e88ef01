import { exceeds64Bits } from '../money/conversion.ts';
import { judgeClaim } from '../money/ledger.ts';
import { knownOf, toPlayerEvent, worthOf } from './decide.ts';
import type { Emission } from './effects.ts';
import type { FoldClaim, FoldEvent, Rejection } from './fold-event.ts';
import {
  amountOutOfRange,
  conflictingDuplicate,
  poisonRecord,
  unknownPlayer,
  unknownProject,
} from './rejections.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Emits again what events applied before a crash emitted, without applying anything. Each ledger row has the log
 * position of the event that claimed it, so each event gets the same verdict as the first time.
 */
export function replay(events: readonly FoldEvent[], snapshot: Snapshot, partition: number): Emission {
  const emission: Emission = { events: [], rejections: [] };
  for (const event of events) {
    const { claim, record } = event;
    const owner = snapshot.projects.get(event.accepted.project_id);
    const player_id = snapshot.players.get(event.identity.key);
    const rows = claim === undefined ? [] : (snapshot.ledger.get(claim.reference_key) ?? []);
    const own = rows.find((row) => row.log_partition === partition && row.log_offset === record.offset);
    if (owner?.tenant_id !== event.accepted.tenant_id) {
      emission.rejections.push(unknownProject(event));
    } else if (player_id === undefined && event.identity.kind === 'player') {
      emission.rejections.push(unknownPlayer(event));
    } else if (claim !== undefined && own === undefined) {
      const earlier = rows.filter((row) => row.log_partition !== partition || row.log_offset < record.offset);
      const verdict = judgeClaim(claim, player_id, earlier);
      if (verdict === 'duplicate') continue;
      emission.rejections.push(
        verdict === 'conflict'
          ? conflictingDuplicate(event, claim)
          : refusedAmount(event, claim, owner.base_currency),
      );
    } else if (player_id === undefined) {
      // An event without a claim creates its player when there is none, unless Postgres refuses the event's data.
      emission.rejections.push(poisonRecord(record));
    } else {
      const worth = own ?? worthOf(event, owner.base_currency, snapshot);
      emission.events.push(toPlayerEvent(knownOf(event, player_id, snapshot), player_id, worth));
    }
  }
  return emission;
}

/** The rejection of a new claim that has no ledger row: its amount is too large, or the player's total would be. */
function refusedAmount(event: FoldEvent, claim: FoldClaim, base_currency: string): Rejection {
  return exceeds64Bits(claim, base_currency) ? amountOutOfRange(event) : poisonRecord(event.record);
}
