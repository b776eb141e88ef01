import type { ExactRate } from '../../ledger/money/conversion.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { completeMet } from './completion.ts';
import {
  addToGrants,
  deleteBreaches,
  insertBets,
  insertBreaches,
  lockGrants,
  selectBets,
  selectCandidates,
  updateBets,
  type BetName,
  type BetRate,
  type Breach,
  type CandidateGrant,
  type GrantSum,
  type LockedGrant,
  type StoredBet,
} from './count-queries.ts';
import { groupBy } from '../../platform/group-by.ts';
import { selectRates } from './rate-queries.ts';
import { contributionOfBet, isMet, takerOf, type Contribution, type WageredBet } from './rules.ts';
import { stakeAsIs, stakeIn, type Stake } from './stake.ts';

/** The most bets that one call counts, so that its transaction stays short. */
export const MAX_BETS = 1_000;

/**
 * The state of a bet, absolute: the one with the highest revision holds. A state of the ledger is above every one that
 * was reported to the endpoint, whose revisions are numbers of another kind.
 */
export interface BetReport extends BetName, WageredBet {
  player_id: string;
  revision: bigint;
  is_of_ledger: boolean;
}

/** What became of reported bets (bonuses.md 11). */
export interface Counted {
  /** Bets whose new state was recorded. */
  applied: number;
  /** Bets of which this state or a later one is known. */
  duplicates: number;
  /** Bets for which no player has a bonus. */
  ignored: number;
  /** Stakes above the limit that were found. */
  breaches: number;
  /** Grants whose wagering was met by these bets. */
  met: string[];
}

/** How long before a grant was made its bets may have happened, by clocks that differ or credits that were backdated. */
const EARLY_MS = 86_400_000;
/** For how long after its end a grant's bets are recorded: their states may arrive in any order. */
const LATE_MS = 7 * 86_400_000;

/**
 * Records the states of at most {@link MAX_BETS} bets of a project in the caller's transaction, and counts them towards
 * the grants that take them. The result depends on neither the order nor the repetition of calls. Rejects with
 * WriteConflict when the transaction must be run again.
 */
export async function countBets(
  tx: Tx,
  project: ProjectRef,
  reports: readonly BetReport[],
  now: Date,
): Promise<Counted> {
  const latest = latestOf(reports);
  const result: Counted = {
    applied: 0,
    duplicates: reports.length - latest.size,
    ignored: 0,
    breaches: 0,
    met: [],
  };
  if (latest.size === 0) return result;
  const bets = [...latest.values()];
  const before = await selectBets(tx, project, bets, false);
  const candidates = await selectCandidates(tx, project, playersOf(bets, before));
  const known = new Set(before.map(nameOf));
  const by_player = groupBy(candidates, ({ named_id }) => named_id);
  const relevant = bets.filter((bet) => {
    const grants = by_player.get(bet.player_id) ?? [];
    return known.has(nameOf(bet)) || grants.some((grant) => mayTake(grant, bet.occurred_at_ms));
  });
  result.ignored = bets.length - relevant.length;
  if (relevant.length === 0) return result;
  const work = await lockWork(tx, project, relevant, { before, candidates });
  const changes: Change[] = [];
  for (const bet of relevant) {
    const old = work.stored.get(nameOf(bet));
    if (old !== undefined && !isNews(bet, old)) {
      result.duplicates++;
      // It may have been recorded while the grant that takes it was being stored, and is looked up for that grant now.
      changes.push({ ...asStored(old, by_player), is_repeated: true });
      continue;
    }
    const player_id =
      survivorOf(by_player, bet.player_id) ?? survivorOf(by_player, old?.player_id) ?? bet.player_id;
    const game_category = bet.game_category ?? old?.game_category ?? null;
    changes.push({ old, bet: { ...bet, player_id, game_category } });
  }
  const { applied, breaches, met } = await writeChanges(tx, project, work.grants, changes, now);
  const news = changes.filter(({ is_repeated }) => is_repeated !== true).length;
  return { ...result, applied, ignored: result.ignored + news - applied, breaches, met };
}

/** Counts bets that are stored again, because grants of their players have changed. */
export async function recountBets(
  tx: Tx,
  project: ProjectRef,
  names: readonly BetName[],
  now: Date,
): Promise<void> {
  const before = await selectBets(tx, project, names, false);
  if (before.length === 0) return;
  const candidates = await selectCandidates(tx, project, playersOf(before, []));
  const by_player = groupBy(candidates, ({ named_id }) => named_id);
  const work = await lockWork(tx, project, before, { before, candidates });
  const changes = before.flatMap((bet): Change[] => {
    const old = work.stored.get(nameOf(bet));
    if (old === undefined) return [];
    return [asStored(old, by_player)];
  });
  await writeChanges(tx, project, work.grants, changes, now);
}

interface Change {
  old: StoredBet | undefined;
  bet: BetReport;
  /** The report says nothing new; only another grant may take the bet by now. */
  is_repeated?: boolean;
}

/** A bet that is decided again as it is stored. */
function asStored(old: StoredBet, by_player: ReadonlyMap<string, readonly CandidateGrant[]>): Change {
  return { old, bet: { ...old, player_id: survivorOf(by_player, old.player_id) ?? old.player_id } };
}

interface Work {
  grants: Map<string, LockedGrant>;
  stored: Map<string, StoredBet>;
}

/** Locks what the bets concern: grants first, then bets, each in a fixed order. */
async function lockWork(
  tx: Tx,
  project: ProjectRef,
  names: readonly BetName[],
  { before, candidates }: { before: readonly StoredBet[]; candidates: readonly CandidateGrant[] },
): Promise<Work> {
  const takers = before.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id]));
  const grant_ids = [...new Set([...takers, ...candidates.map(({ grant_id }) => grant_id)])];
  const grants = new Map((await lockGrants(tx, project, grant_ids)).map((grant) => [grant.grant_id, grant]));
  for (const { grant_id, player_id } of candidates) {
    if (grants.get(grant_id)?.player_id !== player_id)
      throw new WriteConflict(`the player of grant ${grant_id} was merged`);
  }
  const stored = new Map((await selectBets(tx, project, names, true)).map((bet) => [nameOf(bet), bet]));
  for (const { grant_id, bet_id } of stored.values()) {
    if (grant_id !== null && !grants.has(grant_id))
      throw new WriteConflict(`bet ${bet_id} was given to grant ${grant_id} meanwhile`);
  }
  return { grants, stored };
}

interface Decision extends Change {
  taker: LockedGrant | undefined;
}

/**
 * Decides each bet anew and writes what has changed, without the bets of grants whose record is closed. The work is
 * locked.
 */
async function writeChanges(
  tx: Tx,
  project: ProjectRef,
  grants: ReadonlyMap<string, LockedGrant>,
  changes: readonly Change[],
  now: Date,
): Promise<Pick<Counted, 'applied' | 'breaches' | 'met'>> {
  const of_player = groupBy([...grants.values()], ({ player_id }) => player_id);
  const isClosed = (grant_id?: string | null) => grants.get(grant_id ?? '')?.is_closed === true;
  const decisions = changes
    .map((change) => ({ ...change, taker: takerOf(change.bet, of_player.get(change.bet.player_id) ?? []) }))
    .filter(({ old, taker }) => !isClosed(taker?.grant_id) && !isClosed(old?.grant_id));
  const stakes = await stakesOf(tx, project, decisions);
  const sums = new Sums();
  const inserted: StoredBet[] = [];
  const updated: StoredBet[] = [];
  const found: Breach[] = [];
  const gone: (BetName & { grant_id: string })[] = [];
  for (const [i, { old, bet, taker }] of decisions.entries()) {
    const { stake, rate } = stakes[i] ?? { stake: null, rate: null };
    const counts: Contribution =
      taker === undefined ? { contribution: null, is_breach: false } : contributionOfBet(bet, taker, stake);
    const row: StoredBet = { ...bet, grant_id: taker?.grant_id ?? null, rate, ...counts };
    if (old === undefined) inserted.push(row);
    else if (!isSame(old, row)) updated.push(row);
    sums.add(old, -1);
    sums.add(row, 1);
    const was_breach =
      old?.is_breach === true && old.grant_id !== null ? { ...old, grant_id: old.grant_id } : null;
    if (was_breach !== null && !(row.is_breach && row.grant_id === was_breach.grant_id))
      gone.push(was_breach);
    if (taker !== undefined && row.is_breach && stake !== null && taker.max_bet !== null) {
      const { kind, bet_id, occurred_at_ms } = bet;
      const { grant_id, max_bet } = taker;
      const is_new = was_breach?.grant_id !== grant_id;
      if (is_new || old?.stake !== bet.stake || old.occurred_at_ms !== occurred_at_ms)
        found.push({ kind, bet_id, occurred_at_ms, grant_id, stake: stake.amount, max_bet });
      if (is_new) sums.breached(taker);
    }
  }
  if ((await insertBets(tx, project, inserted)) < inserted.length)
    throw new WriteConflict('a bet was stored meanwhile');
  await updateBets(tx, project, updated);
  await deleteBreaches(tx, project, gone);
  await insertBreaches(tx, project, found, now);
  const changed = sums.changed();
  await addToGrants(tx, project, changed, now);
  const met = await noteMet(tx, project, grants, changed, now);
  const applied = decisions.filter(({ is_repeated }) => is_repeated !== true).length;
  return { applied, breaches: sums.new_breaches, met };
}

/** What bets add to grants, by grant. */
class Sums {
  readonly #of = new Map<string, GrantSum>();
  new_breaches = 0;

  add({ grant_id, contribution, is_breach }: Partial<StoredBet> = {}, sign: 1 | -1): void {
    if (grant_id === null || grant_id === undefined) return;
    const sum = this.#get(grant_id);
    sum.added += (contribution ?? 0n) * BigInt(sign);
    sum.breaches += is_breach === true ? sign : 0;
  }

  breached({ grant_id, max_bet_action, status, cancel_requested_at }: LockedGrant): void {
    this.new_breaches++;
    if (max_bet_action === 'forfeit' && status === 'active' && cancel_requested_at === null)
      this.#get(grant_id).is_forfeited = true;
  }

  changed(): GrantSum[] {
    return [...this.#of.values()].filter(
      ({ added, breaches, is_forfeited }) => added !== 0n || breaches !== 0 || is_forfeited,
    );
  }

  #get(grant_id: string): GrantSum {
    let sum = this.#of.get(grant_id);
    if (sum === undefined)
      this.#of.set(grant_id, (sum = { grant_id, added: 0n, breaches: 0, is_forfeited: false }));
    return sum;
  }
}

/** The grants whose requirement the change has met; those that this service completes are completed. */
async function noteMet(
  tx: Tx,
  project: ProjectRef,
  grants: ReadonlyMap<string, LockedGrant>,
  changed: readonly GrantSum[],
  now: Date,
): Promise<string[]> {
  const met: string[] = [];
  const raised: LockedGrant[] = [];
  for (const { grant_id, added, is_forfeited } of changed) {
    const grant = grants.get(grant_id);
    if (grant === undefined || added <= 0n) continue;
    const { wagering_sum, wagering_required } = grant;
    const is_met = isMet(wagering_sum + added, wagering_required);
    if (is_met && !isMet(wagering_sum, wagering_required)) met.push(grant_id);
    if (!is_forfeited) raised.push({ ...grant, wagering_sum: wagering_sum + added });
  }
  await completeMet(tx, project, raised, now);
  return met;
}

/**
 * The stakes of the bets in the currencies of their takers, and the rates that stay with the bets. A bet that was
 * converted before is converted by the same rate, even if the rate has changed since.
 */
async function stakesOf(
  tx: Tx,
  project: ProjectRef,
  decisions: readonly Decision[],
): Promise<{ stake: Stake | null; rate: BetRate | null }[]> {
  const kept = decisions.map(({ old, bet }) =>
    old?.currency === bet.currency && old.occurred_at_ms === bet.occurred_at_ms ? old.rate : null,
  );
  const requests = decisions.map(({ bet, taker }, i) =>
    taker === undefined || taker.currency === bet.currency || taker.currency === kept[i]?.to
      ? undefined
      : { from: bet.currency, to: taker.currency, at_ms: bet.occurred_at_ms },
  );
  const asked = requests.filter((request) => request !== undefined);
  const found = (await selectRates(tx, project, asked)).values();
  return decisions.map(({ bet, taker }, i) => {
    const rate = kept[i] ?? null;
    const request = requests[i];
    if (taker === undefined) return { stake: null, rate };
    if (request === undefined) {
      const is_same = taker.currency === bet.currency;
      return { stake: is_same ? stakeAsIs(bet.stake) : stakeIn(bet.stake, rate ?? undefined), rate };
    }
    const { value } = found.next() as { value: ExactRate | undefined };
    return {
      stake: stakeIn(bet.stake, value),
      rate: value === undefined ? rate : { to: request.to, ...value },
    };
  });
}

/** The state of each bet with the highest revision. */
function latestOf(reports: readonly BetReport[]): Map<string, BetReport> {
  const latest = new Map<string, BetReport>();
  for (const report of reports) {
    const other = latest.get(nameOf(report));
    if (other === undefined || isNews(report, other)) latest.set(nameOf(report), report);
  }
  return latest;
}

/** Whether the report says more than what is known: a later state, or the category of the same one. */
function isNews(
  bet: BetReport,
  known: Pick<BetReport, 'revision' | 'game_category' | 'is_of_ledger'>,
): boolean {
  if (bet.is_of_ledger !== known.is_of_ledger) return bet.is_of_ledger;
  if (bet.revision !== known.revision) return bet.revision > known.revision;
  return known.game_category === null && bet.game_category !== null;
}

function mayTake({ created_at, activated_at, ended_at }: CandidateGrant, at_ms: number): boolean {
  const from_ms = Math.min(created_at.getTime() - EARLY_MS, activated_at?.getTime() ?? Infinity);
  return at_ms >= from_ms && (ended_at === null || at_ms <= ended_at.getTime() + LATE_MS);
}

/** The players of the bets, as reported and as stored, each with the time of its earliest bet. */
function playersOf(
  bets: readonly Pick<BetReport, 'player_id' | 'occurred_at_ms'>[],
  stored: readonly StoredBet[],
): { player_id: string; since_ms: number }[] {
  const since = new Map<string, number>();
  for (const { player_id, occurred_at_ms } of [...bets, ...stored])
    since.set(player_id, Math.min(since.get(player_id) ?? occurred_at_ms, occurred_at_ms));
  return [...since].map(([player_id, since_ms]) => ({ player_id, since_ms }));
}

/** The player that the named one was merged into, or itself; undefined for one without grants. */
function survivorOf(
  candidates: ReadonlyMap<string, readonly CandidateGrant[]>,
  named_id: string | undefined,
): string | undefined {
  return candidates.get(named_id ?? '')?.[0]?.player_id;
}

function isSame(one: StoredBet, other: StoredBet): boolean {
  const names = Object.keys(one) as (keyof StoredBet)[];
  return names.every((name) => one[name] === other[name]);
}

const nameOf = ({ kind, bet_id }: BetName) => `${kind} ${bet_id}`;
