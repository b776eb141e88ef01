import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PlayerRef } from '../player-ref.ts';
import { applyEnd } from './apply.ts';
import { selectLapsed } from './queries.ts';

/** Players that are read at once. */
const MAX_PAGE = 500;
/** Players that are written at once. */
const AT_ONCE = 8;

/**
 * Ends the approvals whose expires_at has passed, the earliest first. A player that fails is logged, and looked at again at
 * the next call; it does not delay another.
 */
export async function lapseOnce(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  stop?: AbortSignal,
): Promise<void> {
  const now_ms = clock.now_ms();
  const lapse = (ref: PlayerRef) =>
    retryConflicts(() => postgres.asTenant(ref.tenant_id, (tx) => applyEnd(tx, ref, now_ms))).catch(
      (error: unknown) => {
        const { tenant_id, project_id, player_id } = ref;
        logger.error(
          { err: error, tenant_id, project_id, player_id },
          'the end of an approval was not written; it is tried again',
        );
      },
    );
  for (let after: { kyc_expires_at: Date; player_id: string } | undefined; ;) {
    const page = await selectLapsed(postgres.service, new Date(now_ms), after, MAX_PAGE);
    const waiting = page.values();
    const writer = async () => {
      for (const { kyc_expires_at: _read, ...ref } of waiting) {
        if (stop?.aborted === true) return;
        await lapse(ref);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, writer));
    after = page.at(-1);
    if (page.length < MAX_PAGE || stop?.aborted === true) return;
  }
}
