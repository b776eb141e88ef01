import { setTimeout as sleep } from 'node:timers/promises';
import { Fence, type FenceDeps } from '../../protection/fence.ts';
import { DEPARTURE_MS } from '../../ingest/intake/exclusions.ts';
import { selectProtected, type Protected, selectRecheck, type RecheckFacts } from './admission-queries.ts';
import { type GrantRow, termsOfGrant } from './grant-row.ts';
import { ApiError } from '../../errors.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { readTenantConfig } from '../../tenants/config/read.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import { requireEligible, requireLicence } from './eligibility.ts';

/** How long a call waits for the fold in all, and one look at it: what it has not folded then is waited for apart. */
const PATIENCE_MS = 1_000;
const SETTLE_MS = DEPARTURE_MS / 2;
const POLL_MS = 20;
/** Looks at the same time; what is asked for meanwhile is looked at together. */
const MAX_LOOKS = 8;

/**
 * Whether the platform may be called for a player: `may`, if the first byte leaves until `by_ms` (`performance.now()`).
 * `behind`: not yet, because events of the player that were accepted before are not folded. `paused`: not yet, because
 * the tenant has paused its bonuses. `failed`: nobody knows. `barred`: never, by the reason, as in `details.reason` of
 * BONUS_PLAYER_NOT_ELIGIBLE.
 */
export type GrantVerdict =
  | { kind: 'may'; by_ms: number }
  | { kind: 'behind' }
  | { kind: 'paused' }
  | { kind: 'failed'; error: unknown }
  | { kind: 'barred'; reason: string };

interface Asked {
  grant: GrantRow;
  answer: (verdict: GrantVerdict) => void;
}

/**
 * Looks at players behind the fence, right before their platform is called. An exclusion counts from its 202,
 * which leaves DEPARTURE_MS after its event is on the log: so a look that did not see the event allows a call only for so
 * long. A grant that has waited is checked again, too.
 */
export class GrantAdmission {
  readonly #deps: FenceDeps;
  readonly #fence: Fence;
  #asked: Asked[] = [];
  #looks = 0;

  constructor(deps: FenceDeps) {
    this.#deps = deps;
    this.#fence = new Fence(deps);
  }

  /** The verdict on one grant; waits up to 1 s for the fold. Never rejects. */
  async lookAt(grant: GrantRow): Promise<GrantVerdict> {
    const until_ms = performance.now() + PATIENCE_MS;
    for (;;) {
      const verdict = await new Promise<GrantVerdict>((answer) => {
        this.#asked.push({ grant, answer });
        if (this.#asked.length === 1) setImmediate(() => this.#begin());
      });
      if (verdict.kind !== 'behind' || performance.now() >= until_ms) return verdict;
      await sleep(POLL_MS);
    }
  }

  /** One look for all that is asked. */
  #begin(): void {
    if (this.#looks >= MAX_LOOKS || this.#asked.length === 0) return;
    const asked = this.#asked;
    this.#asked = [];
    this.#looks++;
    void this.#look(asked.map(({ grant }) => grant))
      .catch((error: unknown): GrantVerdict => ({ kind: 'failed', error }))
      .then((found) => {
        this.#looks--;
        this.#begin();
        for (const { grant, answer } of asked) {
          answer(found instanceof Map ? (found.get(grant.grant_id) ?? { kind: 'behind' }) : found);
        }
      });
  }

  /** The verdicts by grant_id: one fence and a few statements for all. */
  async #look(grants: readonly GrantRow[]): Promise<Map<string, GrantVerdict>> {
    const { service } = this.#deps.postgres;
    // Before the end of the log is noted: what is accepted from here on may not be seen.
    const by_ms = performance.now() + DEPARTURE_MS;
    const mark = await this.#fence.note();
    const behind = await this.#fence.settle(mark, SETTLE_MS);
    // Read after the fence was passed, in the one place where the order matters.
    const now = new Date(this.#deps.clock.now_ms());
    const found = await selectProtected(service, grants, now);
    const verdicts = new Map<string, GrantVerdict>(
      grants.map(({ grant_id }) => [grant_id, { kind: 'may', by_ms }]),
    );
    for (const [grant_id, verdict] of await recheck(service, grants, found, now)) {
      verdicts.set(grant_id, verdict);
    }
    const player_of = new Map(found.map((one) => [one.grant_id, one.player_id]));
    const players = grants.map((one) => ({
      ...one,
      player_id: player_of.get(one.grant_id) ?? one.player_id,
    }));
    const held = await this.#fence.heldBack(mark, behind, players);
    for (const { grant_id, player_id } of players) {
      if (held.has(player_id)) verdicts.set(grant_id, { kind: 'behind' });
    }
    // What an exclusion has said stays true, even if other events are not folded yet.
    for (const { grant_id, reason, is_paused } of found) {
      if (is_paused) verdicts.set(grant_id, { kind: 'paused' });
      if (reason !== null) verdicts.set(grant_id, { kind: 'barred', reason });
    }
    return verdicts;
  }
}

/** The checks of a grant hold for so long after it was stored; what waits longer is checked again. */
const FRESH_MS = 60_000;

/** What the check of a grant that has waited answers: the grant ends with the reason, or the check failed. */
type Rechecked = { kind: 'barred'; reason: string } | { kind: 'failed'; error: unknown };

/**
 * Checks grants again that have waited longer than a minute since they were stored: risk, KYC level, segment and licence,
 * as they are now, in a few statements for all. The terms and amounts are those that were stored, and what the player was
 * granted before counts without the grant itself. Resolves with those that may not be sent, by grant_id.
 */
export async function recheck(
  sql: Tx,
  grants: readonly GrantRow[],
  found: readonly Protected[],
  now: Date,
): Promise<Map<string, Rechecked>> {
  const waited = new Map(
    grants
      .filter(({ created_at }) => now.getTime() - created_at.getTime() > FRESH_MS)
      .map((grant) => [grant.grant_id, grant]),
  );
  const refused = new Map<string, Rechecked>();
  if (waited.size === 0) return refused;
  const asked = found.flatMap(({ grant_id, player_id }) => {
    const grant = waited.get(grant_id);
    return grant === undefined ? [] : [{ ...grant, player_id }];
  });
  const configs = new Map<string, TenantConfig>();
  for (const tenant_id of new Set(asked.map((one) => one.tenant_id))) {
    configs.set(tenant_id, await readTenantConfig(sql, tenant_id));
  }
  for (const facts of await selectRecheck(sql, asked)) {
    const grant = waited.get(facts.grant_id);
    const config = grant === undefined ? undefined : configs.get(grant.tenant_id);
    if (grant === undefined || config === undefined) continue;
    try {
      await requireStillEligible(sql, grant, facts, config, now);
    } catch (error) {
      const reason =
        error instanceof ApiError && error.code === 'BONUS_PLAYER_NOT_ELIGIBLE'
          ? error.details?.['reason']
          : undefined;
      // One grant that cannot be read does not delay another.
      refused.set(
        grant.grant_id,
        typeof reason === 'string' ? { kind: 'barred', reason } : { kind: 'failed', error },
      );
    }
  }
  return refused;
}

async function requireStillEligible(
  sql: Tx,
  grant: GrantRow,
  { is_member, bonuses_before, min_kyc_level, eligible_segment_id, ...player }: RecheckFacts,
  config: TenantConfig,
  now: Date,
): Promise<void> {
  const digits = (amount: string | null) => (amount === null ? null : BigInt(amount));
  const input = {
    player,
    template: { min_kyc_level, eligible_segment_id },
    // Counted when it was stored; it is one of the day itself.
    counts: { of_day: 0 },
    config,
    is_member: () => is_member,
    now,
  };
  await requireEligible(input, async () => {
    await requireLicence(sql, {
      tenant_id: grant.tenant_id,
      config,
      terms: termsOfGrant(grant),
      amounts: {
        kind: 'amounts',
        currency: grant.currency,
        bonus_amount: BigInt(grant.bonus_amount),
        deposit_amount: digits(grant.deposit_amount),
        wagering_required: BigInt(grant.wagering_required),
        max_bet: digits(grant.max_bet),
        max_win_cap: digits(grant.max_win_cap),
      },
      // What was agreed when it was stored does not change, and what it was earned with was judged then.
      qualifying_product: null,
      is_amount_changed: false,
      player,
      bonuses_before,
      now,
    });
  });
}
