import type { EventMoney, PlayerEvent } from '../../ingest/events/envelope.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** What filters compare, in the base currency. */
type ComparedMoney = Pick<
  EventMoney,
  'base_amount' | 'base_payout' | 'base_bonus_stake' | 'base_bonus_payout'
>;

/** The key of an event. */
export type EventRef = Pick<PlayerEvent, 'tenant_id' | 'project_id' | 'ingestion_id' | 'event_index'>;

/** An event on `player-events` that a filter cannot decide about, because no rate is known for its amounts. */
export interface UnratedEvent extends EventRef {
  player_id: string;
  partition: number;
  log_offset: bigint;
  /** Null: it is not known. */
  log_id: string | null;
  value: string;
  /** The id under which the ledger has the event. */
  reference: string;
}

/**
 * Keeps the events, each given once, in the order of their keys, except those of a person who was forgotten. One that is kept
 * already stays as it is, but is held since another time: what looks at it at this moment does not remove it. The caller holds
 * the players.
 */
export async function insertUnrated(tx: Tx, events: readonly UnratedEvent[], now: Date): Promise<void> {
  await tx`
    insert into unrated_events as u (tenant_id, project_id, ingestion_id, event_index, partition, log_offset, log_id, value,
      held_at)
    select e.tenant_id, e.project_id, e.ingestion_id, e.event_index, e.partition, e.log_offset, e.log_id, e.value,
      ${now}::timestamptz
    from ${rowsOf(tx, 'e', events, {
      ...PROJECT_KEY,
      ingestion_id: 'uuid',
      event_index: 'smallint',
      player_id: 'uuid',
      partition: 'integer',
      log_offset: 'bigint',
      log_id: 'text',
      value: 'text',
      place: 'ordinality',
    })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = e.tenant_id and m.project_id = e.project_id and m.player_id = e.player_id offset 0) m on true
    where not exists (
      select from players p where p.player_id = coalesce(m.into_player_id, e.player_id) and p.tenant_id = e.tenant_id
        and p.project_id = e.project_id and p.erased_at is not null)
    order by e.place
    on conflict (tenant_id, project_id, ingestion_id, event_index) do update
    set held_at = greatest(u.held_at + interval '1 microsecond', excluded.held_at)`;
}

/**
 * Gives those of these kept events their amounts whose ledger rows have them. It comes after {@link insertUnrated} was
 * committed: a rate that was restated before is found here, and one that is restated later finds the kept event.
 */
export async function rateFromLedger(tx: Tx, events: readonly UnratedEvent[]): Promise<void> {
  await tx`
    update unrated_events u set is_rated = true, base_amount = l.base_amount, base_payout = l.base_payout,
      base_bonus_stake = l.base_bonus_stake, base_bonus_payout = l.base_bonus_payout
    from ${rowsOf(tx, 'e', events, { ...PROJECT_KEY, ingestion_id: 'uuid', event_index: 'smallint', reference: 'text' })}
    cross join lateral (
      select l.base_amount, l.base_payout, l.base_bonus_stake, l.base_bonus_payout from projects p join ledger l on l.project_no = p.project_no
      where p.tenant_id = e.tenant_id and p.project_id = e.project_id and l.reference = e.reference
        and l.ingestion_id = e.ingestion_id and l.event_index = e.event_index
        and l.rate is not null offset 0) l
    where u.tenant_id = e.tenant_id and u.project_id = e.project_id and u.ingestion_id = e.ingestion_id
      and u.event_index = e.event_index and not u.is_rated`;
}

/** Gives kept events the amounts that were restated, or takes them where there is no rate any more. */
export async function rateEvents(
  tx: Tx,
  restated: readonly (EventRef & ComparedMoney & { is_rated: boolean })[],
): Promise<void> {
  if (restated.length === 0) return;
  await tx`
    update unrated_events u set is_rated = e.is_rated, base_amount = e.base_amount, base_payout = e.base_payout,
      base_bonus_stake = e.base_bonus_stake, base_bonus_payout = e.base_bonus_payout
    from ${rowsOf(tx, 'e', restated, {
      ...PROJECT_KEY,
      ingestion_id: 'uuid',
      event_index: 'smallint',
      base_amount: 'bigint',
      base_payout: 'bigint',
      base_bonus_stake: ['bigint', ({ base_bonus_stake }) => base_bonus_stake ?? null],
      base_bonus_payout: ['bigint', ({ base_bonus_payout }) => base_bonus_payout ?? null],
      is_rated: 'boolean',
    })}
    where u.tenant_id = e.tenant_id and u.project_id = e.project_id and u.ingestion_id = e.ingestion_id
      and u.event_index = e.event_index`;
}

/** Returns a row while the rate of a kept event is known. */
export const ratedWork: WorkQuery = (sql) => sql`select from unrated_events where is_rated limit 1`;

/** A kept event whose amounts are known now. */
export interface RatedEvent extends Omit<UnratedEvent, 'reference' | 'player_id'>, ComparedMoney {
  /** Since when it is held, to the microsecond, as Postgres writes it. */
  held_at: string;
}

/** Kept events whose amounts are known, up to `limit` of each of `projects` projects behind `after`, in the order of these. */
export async function selectRated(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  { projects, limit }: { projects: number; limit: number },
): Promise<RatedEvent[]> {
  const next = (beyond: ReturnType<typeof sql>) => sql`
    select u.tenant_id, u.project_id from unrated_events u
    where u.is_rated and (u.tenant_id, u.project_id) > (${beyond}) order by 1, 2 limit 1`;
  return sql<RatedEvent[]>`
    with recursive lane as (
      (${next(sql`${tenant_id}::uuid, ${project_id}::uuid`)})
      union all
      select n.* from lane cross join lateral (${next(sql`lane.tenant_id, lane.project_id`)}) n
    )
    select u.* from (select * from lane limit ${projects}) lane cross join lateral (
      select u.tenant_id, u.project_id, u.ingestion_id, u.event_index, u.partition, u.log_offset, u.log_id, u.value,
        u.base_amount, u.base_payout, u.base_bonus_stake, u.base_bonus_payout, u.held_at::text as held_at
      from unrated_events u
      where u.is_rated and u.tenant_id = lane.tenant_id and u.project_id = lane.project_id
      order by u.tenant_id, u.project_id, u.ingestion_id, u.event_index limit ${limit}) u`;
}

/** Removes events that were looked at again, except those that were kept again since they were read. */
export async function deleteUnrated(
  sql: Tx,
  events: readonly (EventRef & Pick<RatedEvent, 'held_at'>)[],
): Promise<void> {
  await sql`
    delete from unrated_events u
    using ${rowsOf(sql, 'e', events, { ...PROJECT_KEY, ingestion_id: 'uuid', event_index: 'smallint', held_at: 'text' })}
    where u.tenant_id = e.tenant_id and u.project_id = e.project_id and u.ingestion_id = e.ingestion_id
      and u.event_index = e.event_index
      and u.held_at = e.held_at::timestamptz`;
}

/** Removes up to `limit` events that were kept since before a time; returns how many. */
export async function pruneUnrated(sql: Tx, held_before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select u.ctid from unrated_events u where u.held_at < ${held_before} limit ${limit} for update skip locked)
    delete from unrated_events u using old where u.ctid = old.ctid`;
  return count;
}
