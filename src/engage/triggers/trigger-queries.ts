import { playersMirroredTo } from '../../analytics/mirror-queries.ts';
import { textArray } from '../../platform/postgres/arrays.ts';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import type { ListenerKind, ListenerRef } from './kind.ts';

// Without statistics the planner takes the index of waiting events and the primary key for equally good, and may read all
// events of a listener or a project. So each statement leaves it one of them. Those that name events find them one by one
// by the whole primary key, and ask for `outcome is null`, which means the same as `decided_at is null` but does not
// allow the index of waiting events. The others ask by `listener_id` alone, which is unique, and then for its tenant.

/** An event to record for a listener. */
export interface NewTriggerEvent extends ListenerRef {
  listener_kind: ListenerKind;
  event_key: string;
  player_id: string;
  /** The event's position on `player-events`, and the id of that log. */
  partition: number;
  log_offset: bigint;
  log_id: string | null;
  value: string;
  keep_until: Date;
}

/**
 * Records events for the decision; one that is recorded already stays as it is, and one of a person who was forgotten is
 * not recorded. The fold has committed what an event
 * changed before the event is on the log, so the player's present `changed_xid` is that change or a later one.
 */
export async function insertTriggerEvents(
  sql: Tx,
  events: readonly NewTriggerEvent[],
  now: Date,
): Promise<void> {
  await sql`
    insert into trigger_events (tenant_id, project_id, listener_id, listener_kind, event_key, player_id, partition,
      log_offset, log_id, player_xid, value, recorded_at, keep_until)
    select e.tenant_id, e.project_id, e.listener_id, e.listener_kind, e.event_key,
      coalesce(m.into_player_id, e.player_id), e.partition, e.log_offset, e.log_id, coalesce(t.changed_xid, '0'::xid8), e.value,
      ${now}, 'epoch'::timestamptz + e.keep_until_ms * interval '1 millisecond'
    from ${rowsOf(sql, 'e', events, {
      ...PROJECT_KEY,
      listener_id: 'uuid',
      listener_kind: 'text',
      event_key: 'text',
      player_id: 'uuid',
      partition: 'integer',
      log_offset: 'bigint',
      log_id: 'text',
      value: 'text',
      keep_until_ms: ['bigint', (e) => e.keep_until.getTime()],
    })}
    left join lateral (
      select into_player_id from player_merges m
      where m.tenant_id = e.tenant_id and m.project_id = e.project_id and m.player_id = e.player_id offset 0
    ) m on true
    left join lateral (
      select changed_xid from player_totals t
      where t.tenant_id = e.tenant_id and t.project_id = e.project_id
        and t.player_id = coalesce(m.into_player_id, e.player_id) offset 0
    ) t on true
    where not exists (
      select from players p where p.player_id = coalesce(m.into_player_id, e.player_id) and p.tenant_id = e.tenant_id
        and p.project_id = e.project_id and p.erased_at is not null)
    on conflict (tenant_id, project_id, event_key, listener_id) do nothing`;
}

/** Returns a row while an event waits for its decision. */
export const triggerWork: WorkQuery = (sql) => sql`
  select from trigger_events where decided_at is null order by listener_id limit 1`;

/** A listener with events that wait. */
export type WaitingListener = ListenerRef & { listener_kind: ListenerKind };

/**
 * Up to `limit` listeners with events that wait, in the order of their ids, after `after`. The query hops from one
 * listener to the next in the index of waiting events, so it does not read every event.
 */
export async function selectWaitingListeners(
  sql: Tx,
  after: string,
  limit: number,
): Promise<WaitingListener[]> {
  const next = (beyond: ReturnType<typeof sql>) => sql`
    select e.tenant_id, e.project_id, e.listener_id, e.listener_kind from trigger_events e
    where e.decided_at is null and e.listener_id > ${beyond}
    order by e.listener_id limit 1`;
  return sql<WaitingListener[]>`
    with recursive hop as (
      (${next(sql`${after}::uuid`)})
      union all
      select n.* from hop cross join lateral (${next(sql`hop.listener_id`)}) n
    )
    select * from hop limit ${limit}`;
}

/** An event that this process decides now. */
export interface ClaimedEvent {
  event_key: string;
  player_id: string;
  partition: number;
  log_offset: bigint;
  log_id: string | null;
  value: string;
  attempts: number;
  /** The player was merged into another since the event was recorded. */
  is_merged: boolean;
}

/** How many seconds a claim holds; a decision takes less. */
const CLAIM_S = 60;

/**
 * Claims up to `limit` waiting events of a listener. With `reads_clickhouse` only those that ClickHouse has, together
 * with what they changed of the player: the sink has passed the event, and player-mirror the player's change. Positions of
 * the sink in another log than the event's prove nothing, and neither do those that did not fit their log.
 */
export async function claimTriggerEvents(
  sql: Tx,
  { tenant_id, project_id, listener_id }: ListenerRef,
  { reads_clickhouse, limit }: { reads_clickhouse: boolean; limit: number },
): Promise<ClaimedEvent[]> {
  const waiting = sql`
    select e.ctid, e.tenant_id, e.project_id from trigger_events e
    where e.listener_id = ${listener_id} and e.decided_at is null
      and (e.claimed_until is null or e.claimed_until < now())`;
  const due = reads_clickhouse
    ? sql`
      select e.* from sink_positions s
      left join consumed_logs c on c.group_name = ${GROUPS.sink} and c.topic = s.topic
      cross join lateral (
        ${waiting} and e.partition = s.partition and e.log_offset < s.next_offset
          and (e.log_id is null or e.log_id = c.log_id)
          and (e.player_xid, e.player_id) <= (${playersMirroredTo(sql)})
        order by e.log_offset limit ${limit} for update skip locked) e
      where s.topic = ${TOPICS.playerEvents} and not exists (select from position_refusals r
        where r.group_name = ${GROUPS.sink} and r.topic = s.topic and r.log_id = c.log_id)
      limit ${limit}`
    : sql`${waiting} order by e.partition, e.log_offset limit ${limit} for update skip locked`;
  return sql<ClaimedEvent[]>`
    with due as materialized (${due}),
    claimed as (
      update trigger_events e
      set claimed_until = now() + ${CLAIM_S} * interval '1 second', attempts = e.attempts + 1
      from due where e.ctid = due.ctid and due.tenant_id = ${tenant_id} and due.project_id = ${project_id}
      returning e.tenant_id, e.project_id, e.event_key, e.player_id, e.partition, e.log_offset, e.log_id, e.value,
        e.attempts
    )
    select c.event_key, c.player_id, c.partition, c.log_offset, c.log_id, c.value, c.attempts, m.player_id is not null as is_merged
    from claimed c
    left join lateral (
      select m.player_id from player_merges m
      where m.tenant_id = c.tenant_id and m.project_id = c.project_id and m.player_id = c.player_id offset 0
    ) m on true`;
}

/**
 * Gives events of merged players to the survivors and ends their claims. The decision then waits until player-mirror has
 * copied the survivor as it is now.
 */
export async function moveToSurvivors(
  sql: Tx,
  ref: ListenerRef,
  event_keys: readonly string[],
): Promise<void> {
  await sql`
    update trigger_events e set player_id = s.into_player_id, player_xid = s.changed_xid, claimed_until = null
    from (
      select w.ctid, m.into_player_id, t.changed_xid
      from unnest(${textArray(event_keys)}::text::text[]) as r (event_key)
      cross join lateral (${named(sql, ref)}) w
      cross join lateral (
        select m.into_player_id from player_merges m
        where m.tenant_id = w.tenant_id and m.project_id = w.project_id and m.player_id = w.player_id offset 0) m
      cross join lateral (
        select t.changed_xid from player_totals t
        where t.tenant_id = w.tenant_id and t.project_id = w.project_id and t.player_id = m.into_player_id offset 0) t
    ) s
    where e.ctid = s.ctid`;
}

/** The waiting event that `r.event_key` names. */
function named(sql: Tx, { tenant_id, project_id, listener_id }: ListenerRef) {
  return sql`
    select n.ctid, n.tenant_id, n.project_id, n.player_id from trigger_events n
    where n.tenant_id = ${tenant_id} and n.project_id = ${project_id} and n.event_key = r.event_key
      and n.listener_id = ${listener_id} and n.outcome is null
    offset 0`;
}

/**
 * Locks players, or who they were merged into, until the transaction ends: they are not merged, deleted or erased meanwhile.
 */
export async function holdPlayers(tx: Tx, players: readonly PlayerRef[]): Promise<void> {
  await tx`
    select from (
      select distinct g.tenant_id, g.project_id, coalesce(m.into_player_id, g.player_id) as player_id
      from ${rowsOf(tx, 'g', players, { ...PROJECT_KEY, player_id: 'uuid' })}
      left join lateral (
        select m.into_player_id from player_merges m
        where m.tenant_id = g.tenant_id and m.project_id = g.project_id and m.player_id = g.player_id offset 0) m on true
      order by player_id) r
    cross join lateral (
      select from players p
      where p.player_id = r.player_id and p.tenant_id = r.tenant_id and p.project_id = r.project_id for share) p`;
}

/**
 * Gives waiting events of a project the values with the amounts that their rates give, regardless of what the events may
 * fire. The events are due now.
 */
export async function rateTriggerEvents(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  events: readonly { event_key: string; value: string }[],
): Promise<void> {
  await sql`
    update trigger_events e set value = r.value, claimed_until = null, last_error = null
    from ${rowsOf(sql, 'r', events, { event_key: 'text', value: 'text' })}
    where e.tenant_id = ${tenant_id} and e.project_id = ${project_id} and e.event_key = r.event_key and e.outcome is null
      and e.value is distinct from r.value`;
}

/**
 * Marks waiting events as decided; returns the keys of those that this call has marked. Events of players that were merged
 * since they were claimed are left for the next attempt. The caller holds the players.
 */
export async function settleTriggerEvents(
  tx: Tx,
  ref: ListenerRef,
  events: readonly { event_key: string; outcome: 'fired' | 'refused' }[],
  now: Date,
): Promise<Set<string>> {
  const rows = await tx<{ event_key: string }[]>`
    update trigger_events e
    set decided_at = ${now}, outcome = r.outcome, value = null, claimed_until = null, last_error = null
    from ${rowsOf(tx, 'r', events, { event_key: 'text', outcome: 'text' })}
    cross join lateral (${named(tx, ref)}) w
    where e.ctid = w.ctid and not exists (
      select from player_merges m
      where m.tenant_id = w.tenant_id and m.project_id = w.project_id and m.player_id = w.player_id offset 0)
    returning e.event_key`;
  return new Set(rows.map(({ event_key }) => event_key));
}

/** Stores why an attempt failed; the events wait for `pause_s` seconds. */
export async function postponeTriggerEvents(
  sql: Tx,
  ref: ListenerRef,
  event_keys: readonly string[],
  message: string,
  pause_s: number,
): Promise<void> {
  await sql`
    update trigger_events e set last_error = ${message}, claimed_until = now() + ${pause_s} * interval '1 second'
    from unnest(${textArray(event_keys)}::text::text[]) as r (event_key)
    cross join lateral (${named(sql, ref)}) w
    where e.ctid = w.ctid`;
}

/**
 * Gives up to `limit` waiting events of a listener up, all or those recorded before a time: they are decided as `failed`,
 * and kept with their content and `last_error` until `keep_until`. `message`: the reason of those that have none. Returns
 * how many.
 */
export async function failTriggerEvents(
  sql: Tx,
  { tenant_id, project_id, listener_id }: ListenerRef,
  message: string,
  terms: { recorded_before: Date | undefined; now: Date; keep_until: Date; limit: number },
): Promise<number> {
  const { recorded_before, now, keep_until, limit } = terms;
  const is_late = recorded_before === undefined ? sql`` : sql`and e.recorded_at < ${recorded_before}`;
  const { count } = await sql`
    with late as materialized (
      select e.ctid, e.tenant_id, e.project_id from trigger_events e
      where e.listener_id = ${listener_id} and e.decided_at is null ${is_late}
      limit ${limit} for update skip locked
    )
    update trigger_events e set decided_at = ${now}, outcome = 'failed', claimed_until = null,
      last_error = coalesce(e.last_error, ${message}), keep_until = ${keep_until}
    from late where e.ctid = late.ctid and late.tenant_id = ${tenant_id} and late.project_id = ${project_id}`;
  return count;
}

/** Deletes up to `limit` decided events that need not be kept any more. */
export async function pruneTriggerEvents(sql: Tx, now: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select e.ctid from trigger_events e where e.decided_at is not null and e.keep_until < ${now}
      limit ${limit} for update skip locked
    )
    delete from trigger_events e using old where e.ctid = old.ctid`;
  return count;
}

/** How many events wait, counted up to `limit`, and since when the oldest of these does (milliseconds since the epoch). */
export async function countWaiting(
  sql: Tx,
  limit: number,
): Promise<{ waiting: number; oldest_ms: number | undefined }> {
  const [row] = await sql<{ waiting: number; oldest_ms: bigint | null }[]>`
    select count(*)::integer as waiting, epoch_ms(min(recorded_at)) as oldest_ms
    from (select recorded_at from trigger_events where decided_at is null limit ${limit}) w`;
  return {
    waiting: row?.waiting ?? 0,
    oldest_ms: row?.oldest_ms == null ? undefined : Number(row.oldest_ms),
  };
}
