import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import type { GrantVerdict } from './admission.ts';
import { callPlatform } from './calls.ts';
import type { Conclusion } from './conclusion.ts';
import type { GrantRow } from './grant-row.ts';

/** What an attempt needs. */
export interface AttemptDeps {
  clock: Clock;
  logger: Logger;
  platforms: Platforms;
}

/**
 * Makes the call that a claimed grant needs ({@link callPlatform}). Never rejects: what goes wrong on the way is a
 * conclusion, too, so that the grant shows it. Nothing was sent when the platform could not even be read.
 */
export async function attemptCall(
  { clock, logger, platforms }: AttemptDeps,
  grant: GrantRow,
  look: () => Promise<GrantVerdict>,
): Promise<Conclusion> {
  const failed = (certainty: 'unsent' | 'unknown', err: unknown): Conclusion => {
    logger.error({ err, grant_id: grant.grant_id }, 'a call for a bonus grant failed');
    const message = 'the service failed while it called the platform';
    return { kind: 'retry', certainty, code: 'CALL_FAILED', message, is_made: true };
  };
  let platform: BonusPlatform | undefined;
  try {
    platform = await platforms.bySlug(grant, grant.adapter_slug);
  } catch (error) {
    return failed('unsent', error);
  }
  const looked = async () => {
    const verdict = await look();
    if (verdict.kind === 'failed') {
      logger.error(
        { err: verdict.error, grant_id: grant.grant_id },
        'the player of a bonus could not be looked at',
      );
    }
    return verdict;
  };
  try {
    return await callPlatform({ clock, platform }, grant, looked);
  } catch (error) {
    return failed('unknown', error);
  }
}
