import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { PlayerEffect } from './snapshot.ts';

/** Whether there is something to add to a sum that most players have none of. Every column costs time per row. */
export function hasFeedSums({ sums }: PlayerEffect): boolean {
  return (
    sums.total_bonus_wagered !== 0n ||
    sums.total_bonus_won !== 0n ||
    sums.total_credited !== 0n ||
    sums.total_debited !== 0n
  );
}

/** Whether one of the player's deposits is new. */
export function hasDeposit({ first_deposit_at_ms }: PlayerEffect): boolean {
  return first_deposit_at_ms !== null;
}

/** The players' additions as rows `r`. */
export function totalsRows(
  tx: Tx,
  p: PlayerEffect[],
  { has_feed_sums, has_deposits }: { has_feed_sums: boolean; has_deposits: boolean },
) {
  const first_deposits = { deposit_ms: ['bigint', (r: PlayerEffect) => r.first_deposit_at_ms] } as const;
  const feed_sums = {
    bonus_wagered: ['bigint', (r: PlayerEffect) => r.sums.total_bonus_wagered],
    bonus_won: ['bigint', (r: PlayerEffect) => r.sums.total_bonus_won],
    credited: ['bigint', (r: PlayerEffect) => r.sums.total_credited],
    debited: ['bigint', (r: PlayerEffect) => r.sums.total_debited],
  } as const;
  return tx`(
      select tenant_id, project_id, player_id, deposited, withdrawn, wagered, won, bets, sessions, pending,
        ${has_feed_sums ? tx`bonus_wagered, bonus_won, credited, debited,` : tx``}
        ${has_deposits ? tx`'epoch'::timestamptz + deposit_ms * interval '1 millisecond' as first_deposit_at,` : tx``}
        'epoch'::timestamptz + first_ms * interval '1 millisecond' as first_seen_at,
        'epoch'::timestamptz + last_ms * interval '1 millisecond' as last_seen_at,
        'epoch'::timestamptz + active_ms * interval '1 millisecond' as last_active_at
      from ${rowsOf(tx, 'u', p, {
        ...PROJECT_KEY,
        player_id: 'uuid',
        first_ms: ['bigint', (r) => r.first_seen_at_ms],
        last_ms: ['bigint', (r) => r.last_seen_at_ms],
        active_ms: ['bigint', (r) => r.last_active_at_ms],
        deposited: ['bigint', (r) => r.sums.total_deposited],
        withdrawn: ['bigint', (r) => r.sums.total_withdrawn],
        wagered: ['bigint', (r) => r.sums.total_wagered],
        won: ['bigint', (r) => r.sums.total_won],
        bets: ['bigint', (r) => r.sums.bet_count],
        sessions: ['bigint', (r) => r.sums.session_count],
        pending: ['bigint', (r) => r.sums.pending_conversions],
        ...(has_feed_sums ? feed_sums : {}),
        ...(has_deposits ? first_deposits : {}),
      })}
    ) r`;
}
