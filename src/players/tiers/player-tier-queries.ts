import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { PlayerRef } from '../player-ref.ts';
import type { TierPlayer, TierState } from './recompute.ts';

/** A player with what the rules read, and the stored deadline. */
export interface PlayerFacts extends TierPlayer {
  project_id: string;
  player_id: string;
  /** The stored time at which the tier is to be computed again; null: none. */
  stored_due_ms: number | null;
}

/** The players as rows `g`, in the order of their ids. */
function given(tx: Tx, players: readonly Omit<PlayerRef, 'tenant_id'>[]) {
  const sorted = players.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  return rowsOf(tx, 'g', sorted, { project_id: 'uuid', player_id: 'uuid' });
}

/** Locks the players, then their totals: the order of all writers. */
export async function lockPlayersAndTotals(
  tx: Tx,
  tenant_id: string,
  players: readonly Omit<PlayerRef, 'tenant_id'>[],
): Promise<void> {
  const rows = tx`(select * from ${given(tx, players)} order by g.player_id) g`;
  await Promise.all([
    tx`
      select from ${rows}
      cross join lateral (
        select from players p
        where p.player_id = g.player_id and p.tenant_id = ${tenant_id} and p.project_id = g.project_id
        for no key update) p`,
    tx`
      select from ${rows}
      cross join lateral (
        select from player_totals t
        where t.player_id = g.player_id and t.tenant_id = ${tenant_id} and t.project_id = g.project_id
        for no key update) t`,
  ]);
}

type FactValues = [
  project_id: string,
  player_id: string,
  status: string,
  code: string | null,
  promoted_ms: bigint | null,
  demoted_ms: bigint | null,
  pending_code: string | null,
  locked: boolean,
  total_deposited: bigint,
  total_wagered: bigint,
  first_seen_ms: bigint,
  last_active_ms: bigint,
  stored_due_ms: bigint | null,
];

/** What the rules read of these players, in no order; those that do not exist are omitted. */
export async function selectFacts(
  tx: Tx,
  tenant_id: string,
  players: readonly Omit<PlayerRef, 'tenant_id'>[],
): Promise<PlayerFacts[]> {
  const rows = (await tx`
    select g.project_id, g.player_id, p.status, p.current_tier_code, epoch_ms(p.tier_promoted_at),
      epoch_ms(t.tier_demoted_at), p.tier_pending_code, p.tier_locked, t.total_deposited, t.total_wagered,
      epoch_ms(t.first_seen_at),
      epoch_ms(greatest(t.last_active_at, t.first_seen_at)), epoch_ms(d.due_at)
    from ${given(tx, players)}
    cross join lateral (
      select * from players p
      where p.player_id = g.player_id and p.tenant_id = ${tenant_id} and p.project_id = g.project_id offset 0) p
    cross join lateral (
      select * from player_totals t
      where t.player_id = g.player_id and t.tenant_id = ${tenant_id} and t.project_id = g.project_id offset 0) t
    left join lateral (
      select d.due_at from tier_deadlines d
      where d.player_id = g.player_id and d.tenant_id = ${tenant_id} and d.project_id = g.project_id
      offset 0) d on true`.values()) as unknown as FactValues[];
  return rows.map(
    ([project_id, player_id, status, code, promoted_ms, demoted_ms, pending_code, locked, ...rest]) => {
      const [total_deposited, total_wagered, first_seen_ms, last_active_ms, stored_due_ms] = rest;
      return {
        project_id,
        player_id,
        status,
        code,
        promoted_ms: numberOf(promoted_ms),
        demoted_ms: numberOf(demoted_ms),
        pending_code,
        locked,
        total_deposited,
        total_wagered,
        first_seen_ms: Number(first_seen_ms),
        last_active_ms: Number(last_active_ms),
        stored_due_ms: numberOf(stored_due_ms),
      };
    },
  );
}

function numberOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

/** The state of a player's tier to be written. */
export interface TierWrite extends TierState {
  project_id: string;
  player_id: string;
  locked: boolean;
}

/** Writes the states of locked players; player-mirror finds them by `changed_xid`. */
export async function writeStates(
  tx: Tx,
  tenant_id: string,
  writes: readonly TierWrite[],
  now: Date,
): Promise<void> {
  if (writes.length === 0) return;
  const rows = rowsOf(tx, 'w', writes, {
    project_id: 'uuid',
    player_id: 'uuid',
    code: 'text',
    promoted_ms: 'bigint',
    demoted_ms: 'bigint',
    pending_code: 'text',
    locked: 'boolean',
  });
  await Promise.all([
    tx`
      update players p set current_tier_code = w.code, tier_pending_code = w.pending_code, tier_locked = w.locked,
        tier_promoted_at = 'epoch'::timestamptz + w.promoted_ms * interval '1 millisecond', updated_at = ${now}
      from ${rows}
      cross join lateral (
        select o.ctid from players o
        where o.player_id = w.player_id and o.tenant_id = ${tenant_id} and o.project_id = w.project_id offset 0) found
      where p.ctid = found.ctid`,
    tx`
      update player_totals t set tier_demoted_at = 'epoch'::timestamptz + w.demoted_ms * interval '1 millisecond',
        updated_at = ${now}, changed_xid = pg_current_xact_id()
      from ${rows}
      cross join lateral (
        select o.ctid from player_totals o
        where o.player_id = w.player_id and o.tenant_id = ${tenant_id} and o.project_id = w.project_id offset 0) found
      where t.ctid = found.ctid`,
  ]);
}

/** One change of a player's tier; `context` is JSON text. */
export interface HistoryEntry {
  project_id: string;
  player_id: string;
  from_code: string | null;
  to_code: string | null;
  trigger: 'auto' | 'manual' | 'reset';
  context: string;
}

/** Appends entries to the history, in this order. */
export async function insertHistory(
  tx: Tx,
  tenant_id: string,
  entries: readonly HistoryEntry[],
  now: Date,
): Promise<void> {
  if (entries.length === 0) return;
  await tx`
    insert into player_tier_history (tenant_id, project_id, player_id, from_code, to_code, trigger, context, occurred_at)
    select ${tenant_id}, e.project_id, e.player_id, e.from_code, e.to_code, e.trigger, e.context::jsonb, ${now}
    from ${rowsOf(tx, 'e', entries, {
      project_id: 'uuid',
      player_id: 'uuid',
      from_code: 'text',
      to_code: 'text',
      trigger: 'text',
      context: 'text',
      n: 'ordinality',
    })}
    order by e.n`;
}

/** A player, and when its tier is to be computed again; null: the passing of time alone changes nothing. */
export interface Deadline {
  project_id: string;
  player_id: string;
  due_ms: number | null;
}

/** Sets or removes deadlines. */
export async function writeDeadlines(
  tx: Tx,
  tenant_id: string,
  deadlines: readonly Deadline[],
): Promise<void> {
  const set = deadlines.filter(({ due_ms }) => due_ms !== null);
  const removed = deadlines.filter(({ due_ms }) => due_ms === null);
  await Promise.all([
    set.length === 0
      ? undefined
      : tx`
        insert into tier_deadlines (tenant_id, project_id, player_id, due_at)
        select ${tenant_id}, d.project_id, d.player_id, 'epoch'::timestamptz + d.due_ms * interval '1 millisecond'
        from ${rowsOf(tx, 'd', set, { project_id: 'uuid', player_id: 'uuid', due_ms: 'bigint' })}
        on conflict (player_id, tenant_id, project_id) do update set due_at = excluded.due_at`,
    removed.length === 0
      ? undefined
      : tx`
        delete from tier_deadlines d
        using ${given(tx, removed)}
        cross join lateral (
          select o.ctid from tier_deadlines o
          where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = g.project_id offset 0) found
        where d.ctid = found.ctid`,
  ]);
}

/** The tier of a player as the API shows it; `history` is a JSON array, the newest entry first. */
export interface PlayerTierRow {
  current_tier_code: string | null;
  tier_promoted_at: Date | null;
  tier_demoted_at: Date | null;
  tier_locked: boolean;
  tier_pending_code: string | null;
  history: string;
}

/** The player's tier with the newest `limit` changes; no row when the project has no such player. */
export function selectPlayerTier(tx: Tx, ref: PlayerRef, limit: number): PendingQuery<PlayerTierRow[]> {
  const { tenant_id, project_id, player_id } = ref;
  return tx<PlayerTierRow[]>`
    select p.current_tier_code, p.tier_promoted_at, t.tier_demoted_at, p.tier_locked, p.tier_pending_code,
      array_to_json(array(
        select json_build_object('from_code', h.from_code, 'to_code', h.to_code, 'trigger', h.trigger,
          'context', h.context,
          'occurred_at', to_char(h.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        from player_tier_history h
        where h.player_id = ${player_id} and h.tenant_id = ${tenant_id} and h.project_id = ${project_id}
        order by h.entry_id desc limit ${limit}))::text as history
    from players p
    cross join lateral (
      select * from player_totals t
      where t.player_id = p.player_id and t.tenant_id = p.tenant_id and t.project_id = p.project_id offset 0) t
    where p.player_id = ${player_id} and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
}

/** The project of a tenant's player, or of its survivor after a merge; no row when the tenant has no such player. */
export function selectProjectOfPlayer(
  tx: Tx,
  tenant_id: string,
  player_id: string,
): PendingQuery<{ project_id: string }[]> {
  return tx<{ project_id: string }[]>`
    select p.project_id from players p where p.player_id = ${player_id} and p.tenant_id = ${tenant_id}
    union all
    select m.project_id from player_merges m where m.player_id = ${player_id} and m.tenant_id = ${tenant_id}
    limit 1`;
}
