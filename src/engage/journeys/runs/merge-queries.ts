import type { PlayerDependent } from '../../../players/dependents.ts';
import type { MergePair, PlayerRef } from '../../../players/player-ref.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { quarterOf } from '../../experiments/global.ts';
import { endRuns } from './cancel.ts';
import { lastStepsSql } from './last-step-queries.ts';

/**
 * The partition of a wait whose player was merged, below 0, from the one of its player before: events on that one count by
 * their offsets, others by the time at which they were received.
 */
export function mergedPartition(partition: number): number {
  return -1 - partition;
}

/** A deleted player has no more running runs than this: one per entry. */
const MAX_CANCELLED = 10_000;

/**
 * Gives the runs of a player that is merged away to the survivor. Where both are in a journey in which a player may be
 * only once at a time, the younger run is cancelled. So is a run of one where the journey holds the other out, or the project
 * in its present round: one person gets nothing of it. A run that something has started which has also started a run of
 * the survivor keeps its key with its own id appended.
 *
 * A statement of its own locks the runs first, so that the next ones see what other transactions have changed.
 */
async function moveRuns(
  tx: Tx,
  { tenant_id, project_id, player_id, into_player_id }: MergePair,
  now: Date,
): Promise<void> {
  const isOf = (row: string, player: string) =>
    tx`${tx(row)}.player_id = ${player} and ${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id}`;
  const isOfBoth = (row: string) => tx`((${isOf(row, player_id)}) or (${isOf(row, into_player_id)}))`;
  const isSingle = (row: string) => tx`${tx(row)}.status = 'running' and ${tx(row)}.re_entry <> 'always'`;
  const locked = tx`select from journey_runs r where ${isOfBoth('r')} order by r.run_id for update`;
  const cancelled = tx`
    with ended as (
      update journey_runs r
      set status = 'cancelled', cancelled_by = 'merged', completed_at = ${now}, due_at = null, woken_by = null
      where ${isOfBoth('r')} and r.status = 'running' and (
        ${isSingle('r')} and exists (
          select from journey_runs o
          where ${isOfBoth('o')} and o.player_id <> r.player_id and ${isSingle('o')} and o.journey_id = r.journey_id
            and (o.started_at, o.run_id) < (r.started_at, r.run_id))
        or exists (
          select from journey_runs h
          where ${isOfBoth('h')} and h.player_id <> r.player_id and h.journey_id = r.journey_id and h.outcome = 'held_out'
            and (not h.is_held_out_globally or not r.is_of_service and h.started_at >= (
              select greatest(g.changed_at, ${quarterOf(now)}::timestamptz) from global_holdouts g
              where g.tenant_id = ${tenant_id} and g.project_id = ${project_id}))))
      returning r.*
    ), ${lastStepsSql(tx, 'ended', { status: 'skipped', outcome: 'cancelled', now })}, unsent as (
      update message_sends s
      set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
      from ended e
      where s.journey_run_id = e.run_id and s.tenant_id = e.tenant_id and s.project_id = e.project_id
        and s.status = 'queued'
    ), uncalled as (
      update webhook_deliveries d set status = 'cancelled', completed_at = ${now}
      from ended e
      where d.run_id = e.run_id and d.tenant_id = e.tenant_id and d.project_id = e.project_id and d.status = 'pending'
    )
    select from ended`;
  const waits = tx`
    update journey_waits w set player_id = ${into_player_id}, partition = least(w.partition, -1 - w.partition), is_checked = false
    from journey_runs r
    where ${isOf('r', player_id)} and r.status = 'running'
      and w.run_id = r.run_id and w.tenant_id = r.tenant_id and w.project_id = r.project_id`;
  const moved = tx`
    update journey_runs r set player_id = ${into_player_id}, partition = least(r.partition, -1 - r.partition),
      woken_by = case when r.woken_by -> 'behind' is null then r.woken_by else jsonb_set(r.woken_by, '{behind,partition}',
        to_jsonb(least((r.woken_by #>> '{behind,partition}')::integer, -1 - (r.woken_by #>> '{behind,partition}')::integer)))
        end,
      changed_xid = pg_current_xact_id(),
      trigger_key = case when exists (
        select from journey_runs o
        where ${isOf('o', into_player_id)} and o.journey_id = r.journey_id and o.trigger_key = r.trigger_key)
        then r.trigger_key || ' merged ' || r.run_id::text else r.trigger_key end
    where ${isOf('r', player_id)}`;
  await Promise.all([locked, cancelled, waits, moved]);
}

async function cancelRunsOfPlayer(tx: Tx, ref: PlayerRef, now: Date): Promise<void> {
  const { tenant_id, project_id, player_id } = ref;
  const terms = { cancelled_by: 'player_deleted', now, limit: MAX_CANCELLED };
  await endRuns(tx, { tenant_id, project_id, player_id }, terms);
}

/** What happens to runs when a player is merged or deleted. The gate skips the queued messages of a deleted player. */
export const journeysOfPlayers: PlayerDependent = { onMerge: moveRuns, onDelete: cancelRunsOfPlayer };
