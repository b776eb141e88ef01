import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** A deposit limit that a player has set. */
export interface DepositLimit {
  at_ms: number;
  /** As sent: in the smallest unit of `currency`. */
  amount: bigint;
  /** What the limit is for, such as `daily`; an empty text: the event does not say. */
  period: string;
  /** An empty text: the event does not say. */
  currency: string;
}

/** A deposit limit of a player. */
export interface PlayerLimit extends DepositLimit, ProjectRef {
  player_id: string;
}

/** The latest limits of a player that are compared. */
const MOST = 100;

/** Keeps limits that players have set. One that is kept already, such as one of an event that was sent again, is kept once. */
export async function insertLimits(tx: Tx, limits: readonly PlayerLimit[]): Promise<void> {
  if (limits.length === 0) return;
  await tx`
    insert into deposit_limits (tenant_id, project_id, player_id, occurred_at, amount, period, currency)
    select r.tenant_id, r.project_id, r.player_id, 'epoch'::timestamptz + r.at_ms * interval '1 millisecond', r.amount,
      r.period, r.currency
    from ${rowsOf(tx, 'r', limits, {
      ...PROJECT_KEY,
      player_id: 'uuid',
      at_ms: 'bigint',
      amount: 'numeric',
      period: 'text',
      currency: 'text',
    })}
    on conflict do nothing`;
}

/**
 * When a deposit limit of the player `p` was raised last; null: never. A limit is raised when it is above the one before it
 * of the same period and currency; of equal times the lower one is the earlier.
 */
export function limitRaisedAt(tx: Tx): PendingQuery<Row[]> {
  return tx`(
    select max(s.occurred_at) filter (where s.is_raised) from (
      select l.occurred_at, l.amount > lag(l.amount) over (
        partition by l.period, l.currency order by l.occurred_at, l.amount) as is_raised
      from (
        select * from deposit_limits o
        where o.player_id = p.player_id and o.tenant_id = p.tenant_id and o.project_id = p.project_id
        order by o.occurred_at desc limit ${MOST}) l) s)`;
}

/** What happens to the limits of a player that is merged: both are of one person. */
export const limitsOfPlayers = {
  async onMerge(
    tx: Tx,
    {
      tenant_id,
      project_id,
      player_id,
      into_player_id,
    }: ProjectRef & { player_id: string; into_player_id: string },
  ): Promise<void> {
    await tx`
      with gone as (
        delete from deposit_limits
        where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
        returning *)
      insert into deposit_limits (tenant_id, project_id, player_id, occurred_at, amount, period, currency)
      select tenant_id, project_id, ${into_player_id}, occurred_at, amount, period, currency from gone
      on conflict do nothing`;
  },
};

/** Removes up to `limit` limits of a person who is to be forgotten; resolves with how many they were. */
export async function eraseLimits(
  tx: Tx,
  { tenant_id, project_id, player_ids }: ProjectRef & { player_ids: readonly string[] },
  limit: number,
): Promise<number> {
  const { count } = await tx`
    delete from deposit_limits where ctid in (
      select ctid from deposit_limits
      where player_id in ${tx(player_ids)} and tenant_id = ${tenant_id} and project_id = ${project_id}
      limit ${limit})`;
  return count;
}
