import type { BetStatus } from '../../ledger/money/bets.ts';
import type { BetKind } from '../../ledger/money/ledger.ts';
import type { Product } from '../templates/terms.ts';
import { CONTRIBUTION_KEYS, contributionOf, type GameContribution } from '../templates/wagering.ts';
import type { Stake } from './stake.ts';

/** A stake above this many smallest units is not an amount in any currency: it counts nothing. */
export const MAX_STAKE = 10n ** 30n;

/** A bet as it counts for wagering. */
export interface WageredBet {
  kind: BetKind;
  state: BetStatus;
  /** In the smallest unit of the bet's currency: all that was staked on it, with doubles and splits. */
  stake: bigint;
  currency: string;
  game_category: string | null;
  /** When it counts: a casino bet when it was placed, a sport bet when it was settled. */
  occurred_at_ms: number;
}

/** What decides which bets a grant takes, and how much they count. Amounts are in the smallest unit of its currency. */
export interface WageredGrant {
  grant_id: string;
  currency: string;
  product: Product;
  game_contribution: GameContribution | null;
  max_bet: bigint | null;
  /** Null: not active yet. */
  activated_at_ms: number | null;
  /** The earlier of its expiry and its end; null: it has neither. */
  until_ms: number | null;
}

/** What one bet adds to the grant that takes it. */
export interface Contribution {
  /** Stake × percent: hundredths of the smallest unit of the grant's currency; null while no rate is known. */
  contribution: bigint | null;
  /** The stake is above what the terms allow, so it counts nothing. */
  is_breach: boolean;
}

/**
 * Whether the bet counts at all: a casino bet from its placement on, a sport bet once it is settled; none that was voided
 * or cashed out.
 */
export function isCounting({ kind, state }: Pick<WageredBet, 'kind' | 'state'>): boolean {
  return state === 'settled' || (kind === 'casino' && state === 'placed');
}

/** What the bet is played on. */
export function productOf({ kind, game_category }: Pick<WageredBet, 'kind' | 'game_category'>): Product {
  if (kind === 'sport') return 'betting';
  return game_category === 'bingo' || game_category === 'lottery' ? game_category : 'casino';
}

/**
 * The grant that takes the whole bet: of those whose time and product fit, the one that was activated first, by equal
 * times the one with the least id. It depends on nothing but the bet and the grants, so the order in which they become
 * known cannot matter.
 */
export function takerOf<Grant extends WageredGrant>(
  bet: WageredBet,
  grants: readonly Grant[],
): Grant | undefined {
  if (!isCounting(bet)) return undefined;
  const product = productOf(bet);
  let taker: Grant | undefined;
  for (const grant of grants) {
    if (!isWithin(bet.occurred_at_ms, grant)) continue;
    if (grant.product !== 'any' && grant.product !== product) continue;
    if (taker === undefined || isOlder(grant, taker)) taker = grant;
  }
  return taker;
}

/** What the bet counts for its taker, given its stake in the taker's currency; null: no rate is known yet. */
export function contributionOfBet(
  bet: Pick<WageredBet, 'kind' | 'game_category'>,
  { game_contribution, max_bet }: Pick<WageredGrant, 'game_contribution' | 'max_bet'>,
  stake: Stake | null,
): Contribution {
  if (stake === null) return { contribution: null, is_breach: false };
  const { amount, over, under } = stake;
  if (max_bet !== null && over > max_bet * under) return { contribution: 0n, is_breach: true };
  if (amount > MAX_STAKE) return { contribution: 0n, is_breach: false };
  return { contribution: amount * BigInt(percentOf(bet, game_contribution)), is_breach: false };
}

/** What the API shows of an exact sum of contributions: whole smallest units. */
export function progressOf(sum: bigint): bigint {
  return sum / 100n;
}

/** Whether the exact sum of contributions meets what is to be wagered; null: that is not known yet. Nothing to wager is met. */
export function isMet(sum: bigint, required: bigint | null): boolean {
  return required !== null && sum >= required * 100n;
}

function percentOf(
  { kind, game_category }: Pick<WageredBet, 'kind' | 'game_category'>,
  table: GameContribution | null,
): number {
  if (kind === 'sport') return contributionOf(table, 'sport');
  const key = CONTRIBUTION_KEYS.find((one) => one === game_category && one !== 'sport');
  return contributionOf(table, key ?? 'default');
}

function isWithin(at_ms: number, { activated_at_ms, until_ms }: WageredGrant): boolean {
  return activated_at_ms !== null && activated_at_ms <= at_ms && (until_ms === null || at_ms <= until_ms);
}

function isOlder(one: WageredGrant, other: WageredGrant): boolean {
  const [a, b] = [one.activated_at_ms ?? 0, other.activated_at_ms ?? 0];
  return a < b || (a === b && one.grant_id < other.grant_id);
}
