import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { lockPlayer, patchPlayer } from '../../../players/profile/queries.ts';
import { withSurvivor } from '../../../players/profile/read.ts';
import { suppress } from '../suppression-queries.ts';
import type { Unsubscriber } from '../unsubscribe-link.ts';

/**
 * Unsubscribes a player: suppresses the address on the channel for all projects of the tenant, and withdraws the
 * player's consent to the channel, so that another address of the player gets no messages either. Idempotent.
 */
export async function unsubscribe(
  { postgres, clock }: { postgres: Postgres; clock: Clock },
  who: Unsubscriber,
): Promise<void> {
  const now = new Date(clock.now_ms());
  const patch = { columns: {}, attributes: { [`consent.${who.channel}`]: false }, removed_attributes: [] };
  await withSurvivor(postgres, who, (ref) =>
    retryConflicts(() =>
      postgres.asTenant(who.tenant_id, async (tx) => {
        const [locked] = await Promise.all([
          lockPlayer(tx, ref),
          // Without the limits on custom attributes, because an unsubscription must never be refused.
          patchPlayer(tx, ref, patch, now),
          suppress(tx, who, 'unsubscribe', now),
        ]);
        return locked;
      }),
    ),
  );
}
