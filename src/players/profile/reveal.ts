import type { AuditChange } from '../../http/audit.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../player-ref.ts';
import { selectPlayer } from './queries.ts';
import { withSurvivor } from './read.ts';

/** What the reveal of a player shows. */
export interface Revealed {
  id: string;
  email: string | null;
  phone: string | null;
}

/**
 * Email and phone of a player for somebody who asked to see them: the audit log has who and why, and which of the two there
 * were, never what they are. Rejects with PLAYER_NOT_FOUND.
 */
export async function revealPlayer(
  { postgres, audit }: { postgres: Postgres; audit: AuditChange },
  named: PlayerRef,
  reason: string | null,
): Promise<Revealed> {
  return withSurvivor(postgres, named, (ref) =>
    postgres.asTenant(ref.tenant_id, async (tx) => {
      const [player] = await selectPlayer(tx, ref);
      if (player === undefined) return undefined;
      const { player_id, email, phone } = player;
      const fields = Object.entries({ email, phone }).flatMap(([name, value]) =>
        value === null ? [] : [name],
      );
      const { tenant_id, project_id } = ref;
      await audit(tx, {
        tenant_id,
        project_id,
        resource_id: player_id,
        before: null,
        after: {
          revealed: fields,
          reason,
        },
      });
      return { id: player_id, email, phone };
    }),
  );
}
