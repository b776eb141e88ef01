import type { ApiError, ErrorCode } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import type { GrantedByKind } from './grant-row.ts';
import { selectExisting } from './reserve-queries.ts';
import { GrantStore } from './store.ts';

/** A grant that the service itself makes, in the template's currency. Its id makes it happen once. */
export interface Reservation extends PlayerRef {
  grant_id: string;
  template_id: string;
  granted_by_kind: GrantedByKind;
  granted_by_id: string;
  /** In the smallest unit of the template's currency. */
  deposit_amount: bigint | null;
  /** The deposit for which it is granted, by its transaction_id; absent: none, or it is not known. */
  deposit_transaction_id?: string;
  /** What was lost in the window of a cashback, or staked, in the smallest unit of the base currency. */
  loss_base?: bigint;
  /** What the player did to get the bonus; null: nothing that is a bet. */
  qualifying_product: RuleProduct | null;
}

/** Why a grant was not made: the code of POST /v1/bonus-grants, and `details.reason` where it has one. */
export interface Refusal {
  code: ErrorCode;
  reason: string | undefined;
  /** The licence rule that forbids it, and the trait of the player that is not known, where that is why. */
  rule_id?: string;
  missing_trait?: string;
}

/**
 * Stores the intents of many grants in the caller's transaction, with the checks of a single grant in the same order;
 * the sender sends them. The statements are the same few for all. Returns those that were refused, by grant_id; one that
 * exists already stays as it is, and is not one of them.
 *
 * Locks players, then their grants, then the budgets of the templates, each in the order of their ids; so a grant by
 * another transaction waits, and what is counted here stays true.
 */
export async function reserveGrants(
  tx: Tx,
  clock: Clock,
  asked: readonly Reservation[],
): Promise<ReadonlyMap<string, Refusal>> {
  const refused = new Map<string, Refusal>();
  // What a player is granted first counts for the next one.
  for (let open = asked; open.length > 0;) {
    const now_of = new Map<string, Reservation>();
    const later: Reservation[] = [];
    for (const one of open) {
      if (now_of.has(one.player_id)) later.push(one);
      else now_of.set(one.player_id, one);
    }
    for (const [id, refusal] of await reserveOnePerPlayer(tx, clock, [...now_of.values()])) {
      refused.set(id, refusal);
    }
    open = later;
  }
  return refused;
}

async function reserveOnePerPlayer(
  tx: Tx,
  clock: Clock,
  asked: readonly Reservation[],
): Promise<Map<string, Refusal>> {
  const store = new GrantStore(tx, new Date(clock.now_ms()));
  const wanted = asked.map((one) => ({ ...REQUESTED_BY_SERVICE, ...one }));
  const [, existing] = await Promise.all([store.lock(wanted, true), selectExisting(tx, asked)]);
  const fresh = wanted.filter(({ grant_id }) => !existing.has(grant_id));
  const decided = await store.decide(fresh);
  await store.write(decided.flatMap((one) => (one.kind === 'passed' ? [one.checked] : [])));
  const refused = new Map<string, Refusal>();
  decided.forEach((one, i) => {
    const grant_id = fresh[i]?.grant_id;
    if (one.kind === 'refused' && grant_id !== undefined) refused.set(grant_id, refusalOf(one.error));
  });
  return refused;
}

/** What only requests say. The sender makes the calls. */
const REQUESTED_BY_SERVICE = {
  granted_by_user: null,
  amount_override: null,
  currency_override: null,
  deposit_transaction_id: null,
  is_attempted: false,
} as const;

function refusalOf({ code, details }: ApiError): Refusal {
  const textOf = (name: string) => (typeof details?.[name] === 'string' ? details[name] : undefined);
  const [rule_id, missing_trait] = [textOf('rule_id'), textOf('missing_trait')];
  return {
    code,
    reason: textOf('reason'),
    ...(rule_id === undefined ? {} : { rule_id }),
    ...(missing_trait === undefined ? {} : { missing_trait }),
  };
}
