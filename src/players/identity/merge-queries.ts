import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { MAX_ATTRIBUTES_BYTES } from '../profile/profile-patch.ts';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { PlayerDependent } from '../dependents.ts';
import { DEFAULT_MODEL } from '../profile/score-models.ts';
import type { MergePair } from '../player-ref.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';

/**
 * Merges one player into another: moves identities, profile and totals, then the rows of `dependents` (memberships,
 * messages). The old id becomes an alias of the survivor. Ledger rows keep the player that claimed them and are read
 * through the alias. So a concurrent fold needs no lock: its write to the old player's totals finds no row, which is a
 * write conflict, and the fold starts again. The sums over all players stay the same.
 *
 * Rejects with {@link WriteConflict} when one of the two has changed since the caller read it; the caller's transaction
 * must then roll back.
 */
export async function mergePlayer(
  tx: Tx,
  pair: MergePair,
  now: Date,
  dependents: readonly PlayerDependent[],
): Promise<void> {
  // Issued together, run in this order. Other writers lock identities before players; a merge locks them after, because
  // only the lock on the player fixes which identities there are to move. Postgres breaks a deadlock with the fold, and
  // the transaction is retried.
  const [locked, lockedTotals] = await Promise.all([
    lockBoth(tx, pair),
    lockBothTotals(tx, pair),
    moveIdentities(tx, pair),
    ...dependents.map((dependent) => dependent.beforeMerge?.(tx, pair, now)),
    mergeProfile(tx, pair, now),
    mergeTotals(tx, pair, now),
    ...dependents.map((dependent) => dependent.onMerge(tx, pair, now)),
    leaveAlias(tx, pair, now),
  ]);
  if (!locked || !lockedTotals) throw new WriteConflict('a player to merge was changed');
}

async function lockBoth(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
): Promise<boolean> {
  const rows = await tx<{ player_id: string; external_id: string | null; deleted: boolean }[]>`
    select player_id, external_id, deleted_at is not null as deleted from players
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and player_id = any(${plainArray([player_id, into_player_id])}::text::uuid[])
    order by player_id
    for update`;
  const source = rows.find((row) => row.player_id === player_id);
  return rows.length === 2 && source?.external_id === null && rows.every((row) => !row.deleted);
}

/** Locks the totals of both players: no batch of the fold can change them until the merge ends. */
async function lockBothTotals(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
): Promise<boolean> {
  const rows = await tx`
    select from player_totals
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and player_id = any(${plainArray([player_id, into_player_id])}::text::uuid[])
    order by player_id
    for update`;
  return rows.length === 2;
}

async function moveIdentities(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
): Promise<void> {
  const [player] = await tx<{ anonymous_ids: string[] }[]>`
    select anonymous_ids from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
  // The ids are a parameter: with a subquery the planner may choose to scan the table.
  await tx`
    update player_identities set player_id = ${into_player_id}
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and anonymous_id = any(${textArray(player?.anonymous_ids ?? [])}::text::text[])`;
}

/**
 * The survivor keeps its own values and gets those that it lacks, except attributes that would exceed the size limit. What
 * protects either player stays in force: a self-exclusion, a ban, the longer of two pauses, each refusal of messages, the
 * worse risk and the later date of birth.
 */
async function mergeProfile(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  await tx`
    with gone as (
      delete from players
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
      returning *
    )
    update players t set
      email = coalesce(t.email, g.email),
      phone = coalesce(t.phone, g.phone),
      telegram_id = coalesce(t.telegram_id, g.telegram_id),
      timezone = coalesce(t.timezone, g.timezone),
      anonymous_ids = array(
        select i.anonymous_id from player_identities i
        where i.tenant_id = t.tenant_id and i.project_id = t.project_id
          and i.anonymous_id = any(t.anonymous_ids || g.anonymous_ids)
        order by i.linked_at, i.anonymous_id),
      status = case
        when 'banned' in (t.status, g.status) then 'banned'
        when t.self_excluded or g.self_excluded then 'self_excluded'
        when 'conflict' in (t.status, g.status) then 'conflict'
        else t.status end,
      self_excluded = t.self_excluded or g.self_excluded,
      self_excluded_at = case
        when t.self_excluded = g.self_excluded then greatest(t.self_excluded_at, g.self_excluded_at)
        when t.self_excluded then t.self_excluded_at
        else g.self_excluded_at end,
      cooldown_until = greatest(t.cooldown_until, g.cooldown_until),
      identified_at = greatest(t.identified_at, g.identified_at),
      has_dated_traits = t.has_dated_traits or g.has_dated_traits,
      kyc_provider_ref = coalesce(t.kyc_provider_ref, g.kyc_provider_ref),
      ${mergedScore(tx, 'churn_score', 'churn')},
      ${mergedScore(tx, 'ltv_predicted', 'ltv')},
      session_hours = coalesce(t.session_hours, g.session_hours),
      custom_attributes = case
        when octet_length((g.custom_attributes || t.custom_attributes)::text) <= ${MAX_ATTRIBUTES_BYTES}
          then g.custom_attributes || t.custom_attributes
        else t.custom_attributes end
        || protections_of_both(t.custom_attributes, g.custom_attributes),
      created_at = least(t.created_at, g.created_at),
      updated_at = ${now}
    from gone g
    where t.tenant_id = g.tenant_id and t.project_id = g.project_id and t.player_id = ${into_player_id}`;
}

/** The survivor's score, or that of the player that goes where the survivor has none, or only the service's own. */
function mergedScore(tx: Tx, score: string, prefix: 'churn' | 'ltv'): PendingQuery<Row[]> {
  const model = tx(`${prefix}_model`);
  const taken = tx`(g.${model} is not null
    and (t.${model} is null or t.${model} = ${DEFAULT_MODEL} and g.${model} <> ${DEFAULT_MODEL}))`;
  const merged = (name: string) =>
    tx`${tx(name)} = case when ${taken} then g.${tx(name)} else t.${tx(name)} end`;
  return tx`${merged(score)}, ${merged(`${prefix}_model`)}, ${merged(`${prefix}_as_of`)}`;
}

async function mergeTotals(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  await tx`
    with gone as (
      delete from player_totals
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
      returning *
    )
    update player_totals t set
      first_seen_at = least(t.first_seen_at, g.first_seen_at),
      listed_at = greatest(t.listed_at, g.listed_at),
      seen_at = greatest(t.seen_at, g.seen_at, t.listed_at, g.listed_at),
      last_active_at = greatest(t.last_active_at, g.last_active_at),
      first_deposit_at = least(t.first_deposit_at, g.first_deposit_at),
      total_deposited = t.total_deposited + g.total_deposited,
      total_withdrawn = t.total_withdrawn + g.total_withdrawn,
      total_wagered = t.total_wagered + g.total_wagered,
      total_won = t.total_won + g.total_won,
      total_bonus_wagered = t.total_bonus_wagered + g.total_bonus_wagered,
      total_bonus_won = t.total_bonus_won + g.total_bonus_won,
      total_credited = t.total_credited + g.total_credited,
      total_debited = t.total_debited + g.total_debited,
      bet_count = t.bet_count + g.bet_count,
      session_count = t.session_count + g.session_count,
      pending_conversions = t.pending_conversions + g.pending_conversions,
      updated_at = ${now},
      changed_xid = pg_current_xact_id()
    from gone g
    where t.tenant_id = g.tenant_id and t.project_id = g.project_id and t.player_id = ${into_player_id}`;
}

/** Makes the old id, and every alias of it, an alias of the survivor. */
async function leaveAlias(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  await tx`
    with led_here as (
      update player_merges
      set into_player_id = ${into_player_id}, aliased_at = case when rewritten_at is not null then aliased_at end
      where tenant_id = ${tenant_id} and project_id = ${project_id} and into_player_id = ${player_id}
    )
    insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
    values (${tenant_id}, ${project_id}, ${player_id}, ${into_player_id}, ${now})`;
}
