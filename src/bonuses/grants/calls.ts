import type { Clock } from '../../platform/clock.ts';
import type { BonusPlatform, Departure } from '../../adapters/platform.ts';
import type { GrantVerdict } from './admission.ts';
import { again, rejected, reported, reportOfStatus, type Conclusion } from './conclude.ts';
import { factsOf, type GrantRow } from './grant-row.ts';
import { cancelOrderBody } from './order.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Platforms } from '../../adapters/platforms.ts';

/** What a call of a claimed grant needs. `platform` undefined: its adapter does not exist any more. */
export interface CallDeps {
  clock: Clock;
  platform: BonusPlatform | undefined;
}

const NO_ADAPTER = {
  kind: 'unsent',
  reason: 'unreachable',
  message: 'the adapter does not exist any more',
} as const;

/** Whether the platform may have the bonus, so that it is asked about before it is sent again. */
export function mayExist({ may_be_sent, outcome }: Pick<GrantRow, 'may_be_sent' | 'outcome'>): boolean {
  return may_be_sent || outcome === 'confirmed';
}

/**
 * Makes the call that a claimed grant needs: cancels what is to be cancelled, asks for the status where a grant may have
 * been sent, and otherwise grants. `look` says whether the player may be granted anything; it is called as the last thing
 * before each call that grants, when the limits of the platform let it pass. No transaction is open meanwhile. Does not
 * reject because of the platform.
 */
export async function callPlatform(
  { clock, platform }: CallDeps,
  grant: GrantRow,
  look: () => Promise<GrantVerdict>,
): Promise<Conclusion> {
  if (platform === undefined) return again(NO_ADAPTER);
  const deps = { clock, platform };
  if (grant.cancel_requested_at !== null) {
    const is_unsent = grant.status === 'pending' && grant.outcome === 'unsent' && !grant.may_be_sent;
    return is_unsent ? { kind: 'barred', reason: grant.cancel_reason ?? '' } : cancel(deps, grant);
  }
  if (!mayExist(grant)) return send(deps, grant, look);
  const { grant_id } = grant;
  const { platform_bonus_id } = factsOf(grant);
  const found = await platform.status({ grant_id, platform_bonus_id });
  const now = new Date(clock.now_ms());
  if (found.kind === 'found') return { kind: 'report', report: reportOfStatus(found.bonus, 'adapter', now) };
  if (found.kind === 'unsent' || found.kind === 'unknown') {
    // This failed outcome is that of the question, not of the grant: the grant may exist as before.
    const { message } = found;
    return { kind: 'retry', certainty: 'unknown', code: 'STATUS_UNKNOWN', message, is_made: true };
  }
  // The platform does not know it, or cannot say.
  if (grant.outcome === 'confirmed') {
    const verdict = await look();
    if (verdict.kind !== 'may') return heldUp(grant, verdict);
    const message = 'the platform has accepted the bonus and does not say what happened to it';
    return { kind: 'retry', certainty: 'unknown', code: 'STATUS_UNKNOWN', message, is_made: true };
  }
  return send(deps, grant, look);
}

const notNow = (code: string, message: string): Conclusion => ({
  kind: 'retry',
  certainty: 'unsent',
  code,
  message,
  is_made: false,
});

const HELD_UP: Readonly<Record<'behind' | 'paused' | 'failed', Conclusion>> = {
  behind: notNow('EVENTS_BEHIND', 'events of the player are not processed yet, and may exclude the player'),
  paused: notNow('BONUS_PAUSED', 'bonuses are paused: config.bonuses.paused of the tenant is true'),
  failed: notNow('CALL_FAILED', 'the service could not look at the player'),
};

/** What follows from a verdict that lets nothing leave. */
function heldUp(grant: GrantRow, verdict: Exclude<GrantVerdict, { kind: 'may' }>): Conclusion {
  if (verdict.kind !== 'barred') return HELD_UP[verdict.kind];
  return { kind: mayExist(grant) ? 'cancel_barred' : 'barred', reason: verdict.reason };
}

type Called = CallDeps & { platform: BonusPlatform };

async function send(
  { clock, platform }: Called,
  grant: GrantRow,
  look: () => Promise<GrantVerdict>,
): Promise<Conclusion> {
  const { grant_id, order_body } = grant;
  let held: Exclude<GrantVerdict, { kind: 'may' }> = { kind: 'behind' };
  const mayDepart = async (): Promise<Departure> => {
    const verdict = await look();
    if (verdict.kind === 'may') return verdict;
    held = verdict;
    return undefined;
  };
  const answer = await platform.grant({ grant_id, body: order_body, mayDepart }, Math.max(1, grant.attempts));
  const now = new Date(clock.now_ms());
  switch (answer.kind) {
    case 'credited':
    case 'accepted': {
      const { kind, platform_bonus_id } = answer;
      return reported(grant_id, now, `bonus.${kind}`, { platform_bonus_id, data: { platform_bonus_id } });
    }
    case 'refused':
      return rejected(grant_id, now, answer);
    case 'duplicate':
      return duplicate({ clock, platform }, grant);
    case 'held':
      return heldUp(grant, held);
    case 'unsent':
    case 'unknown':
      return again(answer);
  }
}

/** The platform says that it has the grant already: its status decides. */
async function duplicate({ clock, platform }: Called, { grant_id }: GrantRow): Promise<Conclusion> {
  const found = await platform.status({ grant_id, platform_bonus_id: null });
  const now = new Date(clock.now_ms());
  if (found.kind === 'found') return { kind: 'report', report: reportOfStatus(found.bonus, 'adapter', now) };
  if (found.kind === 'unsupported')
    return reported(grant_id, now, 'bonus.accepted', { data: { duplicate: true } });
  const message = 'the platform has the grant already, and does not say what happened to it';
  return { kind: 'retry', certainty: 'unknown', code: 'STATUS_UNKNOWN', message, is_made: true };
}

async function cancel({ clock, platform }: Called, grant: GrantRow): Promise<Conclusion> {
  const { grant_id } = grant;
  const answer = await platform.cancel({ grant_id, body: cancelOrderBody(grant) }, Math.max(1, grant.calls));
  const reason = grant.cancel_reason ?? undefined;
  const why = reason === undefined ? {} : { reason };
  const cancelled = (more: { is_presumed?: true } = {}) =>
    reported(grant_id, new Date(clock.now_ms()), 'bonus.cancelled', { ...why, ...more });
  switch (answer.kind) {
    case 'cancelled':
      return cancelled();
    case 'refused':
      return { kind: 'cancel_refused', code: answer.code, message: answer.message };
    case 'unsent':
    case 'unknown':
      return { ...again(answer), certainty: 'unknown' } as Conclusion;
    case 'missing':
    case 'ended':
      break;
  }
  const { platform_bonus_id } = factsOf(grant);
  const found = await platform.status({ grant_id, platform_bonus_id });
  const now = new Date(clock.now_ms());
  if (found.kind === 'found') {
    const is_live = found.bonus.status === 'pending' || found.bonus.status === 'active';
    if (!is_live) return { kind: 'report', report: reportOfStatus(found.bonus, 'adapter', now) };
    // It contradicts itself: the same question later.
    return stillThere();
  }
  if (found.kind === 'unsent' || found.kind === 'unknown') return stillThere();
  return answer.kind === 'missing' ? cancelled({ is_presumed: true }) : { kind: 'cancel_too_late' };
}

function stillThere(): Conclusion {
  const message = 'the platform did not cancel the bonus and does not say what happened to it';
  return { kind: 'retry', certainty: 'unknown', code: 'STATUS_UNKNOWN', message, is_made: true };
}

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
