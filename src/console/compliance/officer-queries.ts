import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';

/** What protects a player now. */
export interface ProtectionState {
  status: string;
  self_excluded: boolean;
  /** The end of the latest break, also one that is over; null: there was none. */
  cooldown_until: Date | null;
}

function itself(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): PendingQuery<Row[]> {
  return tx`p.player_id = ${player_id} and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
}

/** What protects a player, deleted or not, whose row is locked until the transaction ends; no row: there is no such player. */
export function lockProtection(tx: Tx, ref: PlayerRef): PendingQuery<ProtectionState[]> {
  return tx<ProtectionState[]>`
    select p.status, p.self_excluded or p.status = 'self_excluded' as self_excluded, p.cooldown_until
    from players p where ${itself(tx, ref)} for no key update`;
}

/**
 * Writes what protects a locked player, and marks the player as changed for player-mirror. A ban and a deletion hide an
 * exclusion in `status`, but do not end it: the same rule as for events. A lift ends the exclusion that was known, not one
 * that came after it and is not applied yet.
 */
export async function writeProtection(
  tx: Tx,
  ref: PlayerRef,
  { self_excluded, cooldown_until }: Pick<ProtectionState, 'self_excluded' | 'cooldown_until'>,
  now: Date,
): Promise<ProtectionState | undefined> {
  const [after] = await tx<ProtectionState[]>`
    with changed as (
      update players p set
        self_excluded = ${self_excluded},
        self_excluded_at = case
          when p.self_excluded = ${self_excluded} then p.self_excluded_at
          when ${self_excluded} then greatest(p.self_excluded_at, ${now})
          else coalesce(p.self_excluded_at + interval '1 millisecond', ${now}) end,
        status = case
          when ${self_excluded} and not p.self_excluded and p.status in ('active', 'conflict') then 'self_excluded'
          when not ${self_excluded} and p.status = 'self_excluded' then 'active'
          else p.status end,
        cooldown_until = ${cooldown_until}, updated_at = ${now}
      where ${itself(tx, ref)}
      returning p.tenant_id, p.project_id, p.player_id, p.status, p.self_excluded, p.cooldown_until
    ), touched as (
      update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
      from changed c
      where t.tenant_id = c.tenant_id and t.project_id = c.project_id and t.player_id = c.player_id
    )
    select status, self_excluded, cooldown_until from changed`;
  return after;
}
