import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import type { BudgetRef } from './apply-queries.ts';
import type { GrantRef } from './grant-row.ts';
import { grantPlayerColumns, type GrantPlayer } from './issue-queries.ts';

/** Those of these grants that exist. */
export async function selectExisting(tx: Tx, refs: readonly GrantRef[]): Promise<ReadonlySet<string>> {
  const rows = await tx<{ grant_id: string }[]>`
    select g.grant_id from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, grant_id: 'uuid' })}
    cross join lateral (
      select g.grant_id from bonus_grants g
      where g.grant_id = r.grant_id and g.tenant_id = r.tenant_id and g.project_id = r.project_id offset 0) g`;
  return new Set(rows.map(({ grant_id }) => grant_id));
}

/**
 * These players, in no order; missing ones are omitted. Their rows are locked against change until the transaction
 * ends, so no exclusion is committed between the checks and the grants; and advisory locks, which merging takes, too, put
 * their grants one after the other, so that what is counted stays true. `waits` false:
 * players whom another transaction holds are omitted, too.
 */
export async function lockGrantPlayers(
  tx: Tx,
  refs: readonly PlayerRef[],
  waits: boolean,
): Promise<GrantPlayer[]> {
  const sorted = refs.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const nameOf = ({ project_id, player_id }: PlayerRef) => `bonus grants ${project_id} ${player_id}`;
  const names = textArray(sorted.map(nameOf).toSorted());
  const asked = rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, player_id: 'uuid' });
  const isAsked = tx`p.player_id = r.player_id and p.tenant_id = r.tenant_id and p.project_id = r.project_id`;
  const take = waits ? tx`pg_advisory_xact_lock` : tx`pg_try_advisory_xact_lock`;
  // Statements of their own lock first, so that the last one sees what other transactions have changed.
  const [rows, turns, players] = await Promise.all([
    tx<{ player_id: string }[]>`
      select r.player_id from ${asked} cross join lateral (
        select from players p where ${isAsked} for share of p ${waits ? tx`` : tx`skip locked`}) p`,
    tx<{ name: string; is_taken: unknown }[]>`
      select n.name, ${take}(hashtextextended(n.name, 0)) as is_taken from unnest(${names}::text::text[]) as n (name)`,
    tx<GrantPlayer[]>`
      select p.* from ${asked} cross join lateral (
        select ${grantPlayerColumns(tx)} from players p where ${isAsked} offset 0) p`,
  ]);
  if (waits) return players;
  const locked = new Set(rows.map(({ player_id }) => player_id));
  const own = new Set(turns.flatMap(({ name, is_taken }) => (is_taken === true ? [name] : [])));
  const held = new Set(
    refs.filter((ref) => locked.has(ref.player_id) && own.has(nameOf(ref))).map(({ player_id }) => player_id),
  );
  return players.filter(({ player_id }) => held.has(player_id));
}

/** The player into whom this one was merged; undefined when it was not. */
export async function selectSurvivor(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): Promise<string | undefined> {
  const [merged] = await tx<{ player_id: string }[]>`
    select into_player_id as player_id from player_merges
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return merged?.player_id;
}

/** A player and a segment. */
export interface MemberRef extends PlayerRef {
  segment_id: string;
}

/** Those of the players who are members, as `<segment_id> <player_id>`. */
export async function selectMembers(tx: Tx, refs: readonly MemberRef[]): Promise<ReadonlySet<string>> {
  if (refs.length === 0) return new Set();
  const rows = await tx<{ key: string }[]>`
    select r.segment_id::text || ' ' || r.player_id::text as key
    from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, player_id: 'uuid', segment_id: 'uuid' })}
    cross join lateral (
      select from segment_members m
      where m.segment_id = r.segment_id and m.player_id = r.player_id and m.tenant_id = r.tenant_id
        and m.project_id = r.project_id offset 0) m`;
  return new Set(rows.map(({ key }) => key));
}

/**
 * What the grants of these templates cost so far, by template, in the smallest unit of the base currency. The rows are
 * locked until the transaction ends.
 */
export async function lockBudgets(tx: Tx, refs: readonly BudgetRef[]): Promise<Map<string, bigint>> {
  const sorted = refs.toSorted((a, b) => (a.template_id < b.template_id ? -1 : 1));
  const asked = rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, template_id: 'uuid' });
  const isAsked = tx`b.template_id = r.template_id and b.tenant_id = r.tenant_id and b.project_id = r.project_id`;
  const [, , rows] = await Promise.all([
    tx`
      insert into bonus_budgets (tenant_id, project_id, template_id, used_base)
      select r.tenant_id, r.project_id, r.template_id, 0 from ${asked}
      on conflict (template_id, tenant_id, project_id) do nothing`,
    tx`
      select from ${asked} cross join lateral (select from bonus_budgets b where ${isAsked} for no key update) b`,
    tx<{ template_id: string; used_base: string }[]>`
      select r.template_id, b.used_base::text as used_base from ${asked}
      cross join lateral (select b.used_base from bonus_budgets b where ${isAsked} offset 0) b`,
  ]);
  return new Map(rows.map(({ template_id, used_base }) => [template_id, BigInt(used_base)]));
}

/** Sets what the grants of templates cost, whose rows {@link lockBudgets} has locked. */
export async function setBudgets(
  tx: Tx,
  budgets: readonly (BudgetRef & { used_base: bigint })[],
): Promise<void> {
  await tx`
    update bonus_budgets b set used_base = r.used_base
    from ${rowsOf(tx, 'r', budgets, { ...PROJECT_KEY, template_id: 'uuid', used_base: 'numeric' })}
    cross join lateral (
      select o.ctid from bonus_budgets o
      where o.template_id = r.template_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id offset 0) found
    where b.ctid = found.ctid`;
}
