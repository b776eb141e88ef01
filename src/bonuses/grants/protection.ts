import { setTimeout as sleep } from 'node:timers/promises';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { bonusSettingsOf, readTenantConfig } from '../../tenants/config/read.ts';
import type { Platform } from '../../platform/platform.ts';
import { selectProtected, type Protected } from './admission-queries.ts';
import { endUnsent } from './conclude.ts';
import { updateCall, selectLiveGrants } from './call-queries.ts';
import { PLAYER_EXCLUDED, type GrantRef } from './grant-row.ts';
import { lockGrant } from './queries.ts';
import { reviewReversedDeposits } from './deposits.ts';
import { isLive } from './transition.ts';

/** Grants that one turn looks at. */
const PAGE = 2_000;
/** After a page it rests so many times as long as the page took, but no longer than this: it takes a tenth of a core. */
const REST = 9;
const LONGEST_REST_MS = 2_000;

/** How a sweep goes; tests look at fewer grants, and see its rests. */
interface SweepPace {
  page: number;
  rest: (ms: number, stop: AbortSignal | undefined) => Promise<unknown>;
}
const PACE: SweepPace = {
  page: PAGE,
  rest: (ms, signal) => sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => undefined),
};

/**
 * Looks at the players of all live grants, a page at a time, again and again. When a player was excluded, banned or
 * deleted since, grants that were not sent are cancelled, and grants that may have been sent are resolved and cancelled.
 * Active bonuses are marked for review or cancelled, as the tenant configures. Those whose deposit was reversed to 0 are
 * marked for review.
 */
export class ProtectionSweep {
  readonly #deps: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;
  readonly #pace: SweepPace;
  #after = NIL_ID;

  constructor(deps: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>, pace = PACE) {
    this.#deps = deps;
    this.#pace = pace;
  }

  /**
   * Looks at the next page, and rests before another one; false at the end of the grants, when the next turn begins with
   * the first ones.
   */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const begun_ms = performance.now();
    await this.#page();
    if (this.#after === NIL_ID) return false;
    await this.#pace.rest(Math.min(REST * (performance.now() - begun_ms), LONGEST_REST_MS), stop);
    return true;
  }

  async #page(): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const page = await selectLiveGrants(postgres.service, this.#after, this.#pace.page);
    this.#after = page.length === this.#pace.page ? (page.at(-1)?.grant_id ?? NIL_ID) : NIL_ID;
    const now = new Date(clock.now_ms());
    const found = page.length === 0 ? [] : await selectProtected(postgres.service, page, now);
    const grants = new Map(page.map((grant) => [grant.grant_id, grant]));
    for (const one of found) {
      const grant = grants.get(one.grant_id);
      // A break that ends by itself changes nothing about bonuses that a player has.
      const is_protected = one.reason !== null && (one.reason !== 'COOLDOWN' || grant?.status === 'pending');
      if (grant === undefined || is_protected === grant.is_protection_seen) continue;
      try {
        await retryConflicts(() =>
          postgres.service.begin((tx) => this.#protect(tx, grant, one, is_protected)),
        );
      } catch (error) {
        // It is looked at again in the next round; those behind it do not wait for that.
        logger.error(
          { err: error, grant_id: grant.grant_id },
          'a bonus of a protected player could not be handled',
        );
      }
    }
    await reviewReversedDeposits(this.#deps, page);
  }

  async #protect(tx: Tx, seen: GrantRef, { reason }: Protected, is_protected: boolean): Promise<void> {
    const now = new Date(this.#deps.clock.now_ms());
    const grant = await lockGrant(tx, seen);
    if (grant === undefined || !isLive(grant.status) || grant.is_protection_seen === is_protected) return;
    if (!is_protected) {
      await updateCall(tx, grant, { ...grant, is_protection_seen: false }, now);
      return;
    }
    const is_calling = grant.outcome === 'sent' && (grant.next_attempt_at ?? now) > now;
    // The call that is under way, or the next one, looks at the player.
    if (is_calling || (reason === 'COOLDOWN' && grant.outcome !== 'unsent')) return;
    if (grant.status === 'pending' && grant.outcome === 'unsent' && !grant.may_be_sent) {
      await endUnsent(tx, grant, now);
      return;
    }
    const settings = bonusSettingsOf(await readTenantConfig(tx, grant.tenant_id));
    const is_cancelled = grant.status === 'pending' || settings.on_exclusion === 'cancel';
    const change = is_cancelled
      ? {
          cancel_requested_at: grant.cancel_requested_at ?? now,
          cancel_reason: grant.cancel_reason ?? PLAYER_EXCLUDED,
          next_attempt_at: now,
        }
      : { needs_review: true };
    await updateCall(tx, grant, { ...grant, ...change, is_protection_seen: true }, now);
  }
}
