import type { Backlog } from '../platform/backlog-gauge.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { readMirrorPosition } from './mirror-queries.ts';
import { JOURNEYS_MIRROR, PLAYERS_MIRROR, SENDS_MIRROR } from './mirrors.ts';

/** Changes of players that player-mirror has not copied: the players of each transaction. */
export async function readPlayersToMirror(tx: Tx, most: number): Promise<Backlog> {
  const position = await readMirrorPosition(tx, PLAYERS_MIRROR);
  const [row] = await tx<Backlog[]>`
    select least(coalesce(sum(player_count), 0), ${most})::integer as items, epoch_ms(min(noted_at))::float8 as oldest_ms
    from (
      select player_count, noted_at from player_changes
      where (changed_xid, change_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
      order by changed_xid, change_id limit ${most}) as waiting`;
  return row ?? NONE;
}

/**
 * Changed messages that send-mirror has not copied. The time is that of the last stage of the message, which may be
 * before the change that waits.
 */
export async function readSendsToMirror(tx: Tx, most: number): Promise<Backlog> {
  const position = await readMirrorPosition(tx, SENDS_MIRROR);
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(at))::float8 as oldest_ms from (
      select greatest(enqueued_at, counted_at, sent_at, delivered_at, opened_at, clicked_at, bounced_at) as at
      from message_sends
      where (changed_xid, send_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
      order by changed_xid, send_id limit ${most}) as waiting`;
  return row ?? NONE;
}

/**
 * Runs and steps of journeys that journey-mirror has not copied. The time is that at which the step ended or the run
 * began, which may be before the change that waits.
 */
export async function readJourneysToMirror(tx: Tx, most: number): Promise<Backlog> {
  const position = await readMirrorPosition(tx, JOURNEYS_MIRROR);
  const beyond = tx`(changed_xid, run_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
    order by changed_xid, run_id limit ${most}`;
  const [row] = await tx<Backlog[]>`
    select least(count(*), ${most})::integer as items, epoch_ms(min(at))::float8 as oldest_ms from (
      (select completed_at as at from journey_steps where ${beyond})
      union all
      (select started_at as at from journey_runs where ${beyond})) as waiting`;
  return row ?? NONE;
}

/** Restated events and merged players that event-rewriter has not written to ClickHouse. */
export async function readEventsToRewrite(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select least(count(*), ${most})::integer as items, epoch_ms(min(at))::float8 as oldest_ms from (
      (select queued_at as at from event_corrections order by correction_id limit ${most})
      union all
      (select merged_at as at from player_merges where rewritten_at is null order by merged_at limit ${most})) as waiting`;
  return row ?? NONE;
}

const NONE: Backlog = { items: 0, oldest_ms: null };
