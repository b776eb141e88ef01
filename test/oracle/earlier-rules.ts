import { bet, countedOf, type Counted, type Fact, type Family } from './references.ts';

/**
 * The rules of one reference from before movements, voids of casino bets and reversals, as they were stated then: events
 * without the new names and properties must still count by them.
 */

/** Of sport outcomes at the same time, the one later in this list wins. */
const OUTCOMES = ['sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];

/** The verdict on a new fact about a reference of which these were accepted. */
export function judgeEarlier<Player>(
  fact: Fact<Player>,
  accepted: readonly Fact<Player>[],
): 'counted' | 'duplicate' | 'CONFLICTING_DUPLICATE' {
  // An outcome of a sport bet at another time is a correction, not a repetition.
  const isRepeatable = OUTCOMES.includes(fact.event);
  const first = accepted.find(
    (other) => other.event === fact.event && (!isRepeatable || other.at_ms === fact.at_ms),
  );
  if (first !== undefined) return hasSameMoney(first, fact) ? 'duplicate' : 'CONFLICTING_DUPLICATE';
  return accepted.some((other) => isOtherSettlement(other, fact)) ? 'CONFLICTING_DUPLICATE' : 'counted';
}

/** What the accepted facts of one reference count. */
export function countedEarlier<Player>(family: Family, facts: readonly Fact<Player>[]): Counted<Player> {
  if (family === 'casino') return casino(facts);
  if (family === 'sport') return sport(facts);
  // What was confirmed and never reversed counts as it is.
  return countedOf(family, facts);
}

function casino<Player>(facts: readonly Fact<Player>[]): Counted<Player> {
  const stake = facts.find(is('bet_placed')) ?? facts.find(is('bet_settled'));
  const settlement = facts.find(is('bet_settled')) ?? facts.find(is('bet_won')) ?? facts.find(is('bet_lost'));
  return earlierBet(stake, settlement);
}

function sport<Player>(facts: readonly Fact<Player>[]): Counted<Player> {
  const inOrder = [...facts].sort(
    (a, b) => a.at_ms - b.at_ms || OUTCOMES.indexOf(a.event) - OUTCOMES.indexOf(b.event),
  );
  const outcome = inOrder.filter((fact) => OUTCOMES.includes(fact.event)).at(-1);
  if (outcome?.event === 'sport_bet_voided') return { postings: [], bettor: null };
  const settled = inOrder.filter((fact) => fact.event === 'sport_bet_settled' && fact.amount !== undefined);
  return earlierBet(facts.find(is('sport_bet_placed')) ?? settled.at(-1), outcome);
}

function earlierBet<Player>(
  stake: Fact<Player> | undefined,
  outcome: Fact<Player> | undefined,
): Counted<Player> {
  const listOf = (fact: Fact<Player> | undefined) => (fact === undefined ? [] : [fact]);
  return bet(listOf(stake), listOf(outcome), stake !== undefined || outcome !== undefined);
}

function hasSameMoney<Player>(a: Fact<Player>, b: Fact<Player>): boolean {
  return a.player === b.player && a.amount === b.amount && a.payout === b.payout && a.currency === b.currency;
}

/** Whether the two settlements of a casino bet differ. A payout of 0 is equal in every currency. */
function isOtherSettlement<Player>(a: Fact<Player>, b: Fact<Player>): boolean {
  const isSettlement = ({ event }: Fact<Player>) => ['bet_settled', 'bet_won', 'bet_lost'].includes(event);
  if (!isSettlement(a) || !isSettlement(b)) return false;
  return a.payout !== b.payout || (a.payout !== 0n && a.currency !== b.currency);
}

function is<Player>(event: string): (fact: Fact<Player>) => boolean {
  return (fact) => fact.event === event;
}
