import { CONTRIBUTION_KEYS } from '../../../src/bonuses/templates/wagering.ts';

/** A state of a bet, as a test reports it. Times are in minutes. */
export interface ToldBet {
  bet_id: string;
  kind: 'casino' | 'sport';
  state: 'placed' | 'settled' | 'voided' | 'cashed_out';
  stake: bigint;
  currency: 'EUR' | 'USD';
  category: string | null;
  minute: number;
  revision: number;
}

/** The terms and the window of a grant. */
export interface ToldGrant {
  grant_id: string;
  product: string;
  table: Record<string, number> | null;
  max_bet: bigint | null;
  currency: 'EUR' | 'USD';
  from: number | null;
  until: number | null;
}

/** What a grant has in the end: the exact sum in hundredths, and the bets that broke its limit. */
export interface Owed {
  sum: bigint;
  breaches: string[];
}

/**
 * What grants have to show for bets, by the rules as they are written: grant after grant, in the order of activation, picks
 * from the bets that are left. It knows nothing of arrivals.
 */
export function owed(bets: readonly ToldBet[], grants: readonly ToldGrant[]): Map<string, Owed> {
  const final = new Map<string, ToldBet>();
  for (const bet of [...bets].sort((a, b) => a.revision - b.revision))
    final.set(`${bet.kind}${bet.bet_id}`, bet);
  let left = [...final.values()].filter((bet) => {
    if (bet.state === 'voided' || bet.state === 'cashed_out') return false;
    return bet.kind === 'casino' || bet.state === 'settled';
  });
  const result = new Map<string, Owed>();
  const inOrder = grants
    .filter((grant) => grant.from !== null)
    .sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || (a.grant_id < b.grant_id ? -1 : 1));
  for (const grant of inOrder) {
    const mine = left.filter((bet) => {
      const fits =
        { casino: 'casino', sport: 'betting' }[bet.kind] === grant.product || grant.product === 'any';
      return fits && bet.minute >= (grant.from ?? 0) && bet.minute <= (grant.until ?? Infinity);
    });
    left = left.filter((bet) => !mine.includes(bet));
    const breaches = mine.filter((bet) => grant.max_bet !== null && halves(bet, grant) > 2n * grant.max_bet);
    let sum = 0n;
    for (const bet of mine)
      if (!breaches.includes(bet)) sum += rounded(halves(bet, grant)) * BigInt(weight(bet, grant.table));
    result.set(grant.grant_id, { sum, breaches: breaches.map(({ bet_id }) => bet_id).sort() });
  }
  return result;
}

/** Twice the stake in the currency of the grant, by 1 EUR = 2 USD: always whole. */
function halves({ stake, currency }: ToldBet, grant: ToldGrant): bigint {
  if (currency === grant.currency) return 2n * stake;
  return currency === 'EUR' ? 4n * stake : stake;
}

/** Half of it, half to even. */
function rounded(twice: bigint): bigint {
  const half = twice / 2n;
  return twice % 2n === 1n && half % 2n === 1n ? half + 1n : half;
}

function weight({ kind, category }: ToldBet, table: ToldGrant['table']): number {
  if (table === null) return 100;
  const key = kind === 'sport' ? 'sport' : (category ?? 'none');
  const is_key = (CONTRIBUTION_KEYS as readonly string[]).includes(key);
  return (is_key ? table[key] : undefined) ?? table['default'] ?? 0;
}
