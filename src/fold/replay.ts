import { claimOf } from '../money/ledger.ts';
import { toPlayerEvent } from './decide.ts';
import type { Emission } from './effects.ts';
import { identityOf, type FoldEvent } from './fold-event.ts';
import { referenceKey, type Snapshot } from './snapshot.ts';

/**
 * Says again what was said of events that were applied before a crash, without applying anything: the claims
 * remember which log position made them, so each event gets the verdict it got then (design 2).
 */
export function replay(events: readonly FoldEvent[], snapshot: Snapshot, partition: number): Emission {
  const emission: Emission = { events: [], rejections: [] };
  for (const event of events) {
    const player_id = snapshot.players.get(identityOf(event).key);
    const { project_id, event: body } = event.accepted;
    const claim = claimOf(body.event, event.properties, event.occurred_at_ms);
    const rows =
      claim === undefined ? [] : (snapshot.ledger.get(referenceKey(project_id, claim.reference)) ?? []);
    const own = rows.find((row) => row.log_partition === partition && row.log_offset === event.record.offset);
    if (claim !== undefined && own === undefined) {
      const same = rows.find((row) => row.event === claim.event && row.occurrence === claim.occurrence);
      const duplicate =
        same !== undefined &&
        same.amount === claim.amount &&
        same.payout === claim.payout &&
        same.currency === claim.currency &&
        same.player_id === player_id;
      if (duplicate) continue;
      emission.rejections.push({
        record: event.record,
        ...replayedReason(player_id, claim.event, claim.reference),
      });
    } else if (player_id === undefined) {
      emission.rejections.push({ record: event.record, ...replayedReason(undefined, '', '') });
    } else {
      emission.events.push(toPlayerEvent(event, player_id, own));
    }
  }
  return emission;
}

function replayedReason(player_id: string | undefined, event: string, reference: string) {
  return player_id === undefined
    ? ({ reason: 'UNKNOWN_PLAYER', message: 'the player does not exist in this project' } as const)
    : ({
        reason: 'CONFLICTING_DUPLICATE',
        message: `${event} ${reference} came before with another content`,
      } as const);
}
