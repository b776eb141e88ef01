import { ApiError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { applyPatch } from '../../players/profile/change.ts';
import { splitAttributes } from '../../players/profile/profile-patch.ts';
import { withSurvivor } from '../../players/profile/read.ts';
import { lockStatus } from './review-queries.ts';
import type { Platform } from '../../platform/platform.ts';

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  audit: AuditChange;
}

/**
 * Ends the review of a player in conflict: it is active again, or as excluded as it was before; both players keep their ids and data, and the audit log has
 * the note. Rejects with PLAYER_NOT_FOUND, or CONFLICT when the player is not in conflict (any more).
 */
export async function resolveConflict(
  { postgres, clock, audit }: Deps,
  named: PlayerRef,
  note: string,
): Promise<{ player_id: string; status: string; note: string }> {
  return withSurvivor(postgres, named, (ref) =>
    retryConflicts(() =>
      postgres.asTenant(ref.tenant_id, async (tx) => {
        const [player] = await lockStatus(tx, ref);
        if (player === undefined) return undefined;
        if (player.status !== 'conflict' || player.deleted_at !== null) {
          const message = `player ${ref.player_id} is not in conflict: its status is ${player.status}`;
          throw new ApiError('CONFLICT', message);
        }
        const { tenant_id, project_id, player_id } = ref;
        const status = player.self_excluded ? 'self_excluded' : 'active';
        await applyPatch(tx, ref, { columns: { status: 'active' }, ...splitAttributes({}) }, clock.now_ms());
        await audit(tx, {
          tenant_id,
          project_id,
          resource_id: player_id,
          before: {
            status: 'conflict',
            note: null,
          },
          after: {
            status,
            note,
          },
        });
        return { player_id, status, note };
      }),
    ),
  );
}
