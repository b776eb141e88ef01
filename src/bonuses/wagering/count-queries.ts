import type { PendingQuery, Row } from 'postgres';
import type { ExactRate } from '../../ledger/money/conversion.ts';
import type { BetKind } from '../../ledger/money/ledger.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { MaxBetAction } from '../templates/terms.ts';
import type { GameContribution } from '../templates/wagering.ts';
import type { GrantStatus } from '../grants/transition.ts';
import type { WageredBet, WageredGrant } from './rules.ts';

/** The name of a bet in its project. */
export interface BetName {
  kind: BetKind;
  bet_id: string;
}

/** The conversion with which a bet was first counted in the currency `to`: it stays with the bet. */
export interface BetRate extends ExactRate {
  to: string;
}

/** A bet as `bonus_contributions` has it. */
export interface StoredBet extends BetName, WageredBet {
  player_id: string;
  revision: bigint;
  /** The state is from the ledger, not from a report to the endpoint. */
  is_of_ledger: boolean;
  rate: BetRate | null;
  grant_id: string | null;
  contribution: bigint | null;
  is_breach: boolean;
}

/** A player whose bets are looked at, and the time of the earliest one. */
export interface LookedUpPlayer {
  player_id: string;
  since_ms: number;
}

/** A grant that may take bets of a player. */
export interface CandidateGrant {
  /** The player as it was named; the grant's may be the one that it was merged into. */
  named_id: string;
  player_id: string;
  grant_id: string;
  created_at: Date;
  activated_at: Date | null;
  /** When its record of bets may end; null: it is open. */
  ended_at: Date | null;
}

/** A locked grant. */
export interface LockedGrant extends WageredGrant {
  player_id: string;
  status: GrantStatus;
  max_bet_action: MaxBetAction;
  /** Null: not known yet. */
  wagering_required: bigint | null;
  wagering_sum: bigint;
  progress_source: 'none' | 'events' | 'platform';
  cancel_requested_at: Date | null;
  adapter_slug: string;
  /** It ended so long ago that its bets are removed: none changes its sum any more. */
  is_closed: boolean;
}

/** For how long after its end a grant's bets may arrive. */
const LATE = '7 days';

/** Which of the projects have grants at all. */
export async function selectProjectsWithGrants(
  sql: Tx,
  projects: readonly ProjectRef[],
): Promise<Set<string>> {
  const rows = await sql<{ project_id: string }[]>`
    select r.project_id
    from ${rowsOf(sql, 'r', projects, PROJECT_KEY)}
    cross join lateral (
      select from bonus_grants g where g.tenant_id = r.tenant_id and g.project_id = r.project_id
        and g.created_at > '-infinity' limit 1) g`;
  return new Set(rows.map(({ project_id }) => project_id));
}

/**
 * The grants that may take bets of the players since the times given. A player that was merged is looked up as the one
 * that it was merged into. Not included: grants that ended without having been active, and those that ended before.
 */
export async function selectCandidates(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  players: readonly LookedUpPlayer[],
): Promise<CandidateGrant[]> {
  return sql<CandidateGrant[]>`
    select r.player_id as named_id, s.player_id, g.grant_id, g.created_at, g.activated_at, g.ended_at
    from ${rowsOf(sql, 'r', players, { player_id: 'uuid', since_ms: 'bigint' })}
    cross join lateral (
      select coalesce((select m.into_player_id from player_merges m where m.tenant_id = ${tenant_id}
        and m.project_id = ${project_id} and m.player_id = r.player_id), r.player_id) as player_id offset 0) s
    cross join lateral (
      select g.grant_id, g.created_at, g.activated_at,
        case when g.status not in ('pending', 'active') then least(g.ended_at, g.expires_at) end as ended_at
      from bonus_grants g
      where g.player_id = s.player_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and (g.status in ('pending', 'active', 'failed') or g.activated_at is not null)
        and (g.ended_at is null
          or g.ended_at >= 'epoch'::timestamptz + r.since_ms * interval '1 millisecond' - ${LATE}::text::interval)
      offset 0) g`;
}

type LockedValues = Omit<
  LockedGrant,
  'activated_at_ms' | 'until_ms' | 'max_bet' | 'wagering_required' | 'wagering_sum' | 'game_contribution'
> & {
  game_contribution: GameContribution | null;
  activated_at: Date | null;
  until: Date | null;
  max_bet: string | null;
  wagering_required: string | null;
  wagering_sum: string;
};

/**
 * What is to be wagered of the grant `g`; null: the platform has not said what was won, of which it is a multiple. 0 is
 * known otherwise: there is nothing to wager.
 */
export function requiredColumn(tx: Tx): PendingQuery<Row[]> {
  return tx`case when g.wagering_required > 0 or g.terms -> 'wagering' ->> 'basis' <> 'winnings'
      or g.terms -> 'wagering' ->> 'multiplier_hundredths' = '0' or g.facts ->> 'winnings' is not null
      or g.facts ->> 'wagering_required' is not null
    then g.wagering_required end`;
}

/** Locks grants in the order of their ids until the transaction ends, and returns them as they are then. */
export async function lockGrants(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  grant_ids: readonly string[],
): Promise<LockedGrant[]> {
  if (grant_ids.length === 0) return [];
  const rows = await tx<LockedValues[]>`
    select g.grant_id, g.player_id, g.status, g.currency, g.adapter_slug, g.terms ->> 'product' as product,
      case when jsonb_typeof(g.terms -> 'game_contribution') = 'object' then g.terms -> 'game_contribution' end
        as game_contribution,
      g.terms ->> 'max_bet_action' as max_bet_action, g.max_bet, g.activated_at,
      least(g.expires_at, g.ended_at) as until, ${requiredColumn(tx)} as wagering_required, g.wagering_sum, g.progress_source,
      g.cancel_requested_at, g.wagering_record <> 'open' and g.ended_at is not null as is_closed
    from (select * from unnest(${plainArray([...grant_ids].sort())}::text::uuid[]) as r (grant_id) order by 1) r
    cross join lateral (
      select * from bonus_grants g
      where g.grant_id = r.grant_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      for no key update) g`;
  return rows.map(({ activated_at, until, max_bet, wagering_required, wagering_sum, product, ...row }) => ({
    ...row,
    product,
    max_bet: max_bet === null ? null : BigInt(max_bet),
    wagering_required: wagering_required === null ? null : BigInt(wagering_required),
    wagering_sum: BigInt(wagering_sum),
    activated_at_ms: activated_at?.getTime() ?? null,
    until_ms: until?.getTime() ?? null,
  }));
}

type BetValues = Omit<StoredBet, 'stake' | 'contribution' | 'occurred_at_ms'> & {
  stake: string;
  contribution: string | null;
  occurred_at: Date;
};

const toStored = ({ stake, contribution, occurred_at, ...row }: BetValues): StoredBet => ({
  ...row,
  stake: BigInt(stake),
  contribution: contribution === null ? null : BigInt(contribution),
  occurred_at_ms: occurred_at.getTime(),
});

/** The stored bets of these names; `lock`: in the order of their names, until the transaction ends. */
export async function selectBets(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  names: readonly BetName[],
  lock: boolean,
): Promise<StoredBet[]> {
  const rows = await tx<BetValues[]>`
    select c.kind, c.bet_id, c.player_id, c.state, c.stake, c.currency, c.game_category, c.occurred_at, c.revision,
      c.grant_id, c.contribution, c.is_breach, c.is_of_ledger, c.rate
    from (select * from ${rowsOf(tx, 'r', names, { kind: 'enum bet_kind', bet_id: 'text' })} order by bet_id, kind) r
    cross join lateral (
      select * from bonus_contributions c
      where c.bet_id = r.bet_id and c.kind = r.kind and c.tenant_id = ${tenant_id} and c.project_id = ${project_id}
      ${lock ? tx`for update` : tx`offset 0`}) c`;
  return rows.map(toStored);
}

/** Adds bets; returns how many of them were new. */
export async function insertBets(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  bets: readonly StoredBet[],
): Promise<number> {
  if (bets.length === 0) return 0;
  const rows = await tx`
    insert into bonus_contributions (tenant_id, project_id, kind, bet_id, player_id, state, stake, currency,
      game_category, occurred_at, revision, grant_id, contribution, is_breach, is_of_ledger, rate)
    select ${tenant_id}, ${project_id}, r.* from (${betRows(tx, bets)}) r
    on conflict (bet_id, kind, tenant_id, project_id) do nothing
    returning 1`;
  return rows.length;
}

/** Writes bets whose rows the transaction has locked. */
export async function updateBets(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  bets: readonly StoredBet[],
): Promise<void> {
  if (bets.length === 0) return;
  await tx`
    update bonus_contributions c set
      player_id = r.player_id, state = r.state, stake = r.stake, currency = r.currency,
      game_category = r.game_category, occurred_at = r.occurred_at, revision = r.revision, grant_id = r.grant_id,
      contribution = r.contribution, is_breach = r.is_breach, is_of_ledger = r.is_of_ledger, rate = r.rate
    from (${betRows(tx, bets)}) r
    cross join lateral (
      select o.ctid from bonus_contributions o
      where o.bet_id = r.bet_id and o.kind = r.kind and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
      offset 0) found
    where c.ctid = found.ctid`;
}

function betRows(tx: Tx, bets: readonly StoredBet[]) {
  return tx`
    select kind, bet_id, player_id, state, stake, currency, game_category,
      'epoch'::timestamptz + at_ms * interval '1 millisecond' as occurred_at, revision, grant_id, contribution, is_breach,
      is_of_ledger, rate::jsonb as rate
    from ${rowsOf(tx, 'r', bets, {
      kind: 'enum bet_kind',
      bet_id: 'text',
      player_id: 'uuid',
      state: 'enum bet_status',
      stake: 'numeric',
      currency: 'text',
      game_category: 'text',
      at_ms: ['bigint', (b) => b.occurred_at_ms],
      revision: 'bigint',
      grant_id: 'uuid',
      contribution: 'numeric',
      is_breach: 'boolean',
      is_of_ledger: 'boolean',
      rate: ['text', (b) => b.rate && JSON.stringify(b.rate)],
    })}`;
}

/** What bets have changed about a grant. */
export interface GrantSum {
  grant_id: string;
  /** Hundredths of the smallest unit. */
  added: bigint;
  breaches: number;
  /** The platform is to cancel it, because of a breach. */
  is_forfeited: boolean;
}

/** Why a grant is cancelled when its terms forfeit it. */
export const MAX_BET_BREACHED = 'max_bet_breached';

/** Adds to the sums of locked grants. The progress is shown from the sum until the platform reports one. */
export async function addToGrants(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  sums: readonly GrantSum[],
  now: Date,
): Promise<void> {
  if (sums.length === 0) return;
  await tx`
    update bonus_grants g set
      wagering_sum = g.wagering_sum + r.added,
      wagering_progress = case when g.progress_source = 'platform' then g.wagering_progress
        else floor((g.wagering_sum + r.added) / 100) end,
      progress_source = case when g.progress_source = 'none' then 'events' else g.progress_source end,
      max_bet_breaches = g.max_bet_breaches + r.breaches,
      cancel_requested_at = case when r.is_forfeited then ${now} else g.cancel_requested_at end,
      cancel_reason = case when r.is_forfeited then ${MAX_BET_BREACHED} else g.cancel_reason end,
      next_attempt_at = case when r.is_forfeited then ${now} else g.next_attempt_at end,
      updated_at = ${now}
    from ${rowsOf(tx, 'r', sums, { grant_id: 'uuid', added: 'numeric', breaches: 'integer', is_forfeited: 'boolean' })}
    cross join lateral (
      select o.ctid from bonus_grants o
      where o.grant_id = r.grant_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) found
    where g.ctid = found.ctid`;
}

/** A stake above the limit of a grant, or one that no longer is. */
export interface Breach extends BetName {
  grant_id: string;
  stake: bigint;
  max_bet: bigint;
  occurred_at_ms: number;
}

/** Adds breaches; those that are known get what is known now. */
export async function insertBreaches(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  breaches: readonly Breach[],
  now: Date,
): Promise<void> {
  if (breaches.length === 0) return;
  await tx`
    insert into bonus_breaches (tenant_id, project_id, grant_id, kind, bet_id, stake, max_bet, occurred_at, found_at)
    select ${tenant_id}, ${project_id}, grant_id, kind, bet_id, stake, max_bet,
      'epoch'::timestamptz + at_ms * interval '1 millisecond', ${now}
    from ${rowsOf(tx, 'r', breaches, {
      grant_id: 'uuid',
      kind: 'enum bet_kind',
      bet_id: 'text',
      stake: 'numeric',
      max_bet: 'numeric',
      at_ms: ['bigint', (b) => b.occurred_at_ms],
    })}
    on conflict (grant_id, kind, bet_id, tenant_id, project_id) do update set
      stake = excluded.stake, max_bet = excluded.max_bet, occurred_at = excluded.occurred_at`;
}

/** Removes breaches of bets that were voided, or that another grant takes. */
export async function deleteBreaches(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  breaches: readonly (BetName & { grant_id: string })[],
): Promise<void> {
  if (breaches.length === 0) return;
  await tx`
    delete from bonus_breaches b
    using ${rowsOf(tx, 'r', breaches, { grant_id: 'uuid', kind: 'enum bet_kind', bet_id: 'text' })}
    cross join lateral (
      select o.ctid from bonus_breaches o
      where o.grant_id = r.grant_id and o.kind = r.kind and o.bet_id = r.bet_id and o.tenant_id = ${tenant_id}
        and o.project_id = ${project_id} offset 0) found
    where b.ctid = found.ctid`;
}
