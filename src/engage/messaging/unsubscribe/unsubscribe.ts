import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { lockPlayer, patchPlayer } from '../../../players/profile/queries.ts';
import { withSurvivor } from '../../../players/profile/read.ts';
import { suppress } from '../suppression-queries.ts';
import type { Unsubscriber } from '../unsubscribe-link.ts';

/**
 * Takes a player at their word: the address gets nothing more on the channel, from any project of the tenant, and the
 * player's consent is withdrawn, so that another address is none either. Repeating it changes nothing.
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
          // However full the player's attributes are: this one must not be refused.
          patchPlayer(tx, ref, patch, now),
          suppress(tx, who, 'unsubscribe', now),
        ]);
        return locked;
      }),
    ),
  );
}
