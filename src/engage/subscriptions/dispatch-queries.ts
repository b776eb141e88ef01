import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { Fact } from './events.ts';
import { columns, type SubscriptionRow } from './queries.ts';

/** One process at a time queues the events of a tenant, until its transaction ends; false: another does. */
export async function lockFacts(tx: Tx, tenant_id: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`subscription facts ${tenant_id}`}, 0)) as locked`;
  return row?.locked ?? false;
}

/** The oldest facts of a tenant. */
export async function selectFacts(tx: Tx, tenant_id: string, limit: number): Promise<Fact[]> {
  return tx<Fact[]>`
    select tenant_id, project_id, fact_id, event, fact_key, player_ids::text[] as player_ids, data, occurred_at from subscription_facts
    where tenant_id = ${tenant_id} order by fact_id limit ${limit}`;
}

/** Removes facts whose events are queued. */
export async function deleteFacts(tx: Tx, facts: readonly Fact[]): Promise<void> {
  await tx`
    delete from subscription_facts f
    using ${rowsOf(tx, 'r', facts, { tenant_id: 'uuid', fact_id: 'bigint' })}
    where f.tenant_id = r.tenant_id and f.fact_id = r.fact_id`;
}

/** The subscriptions of these projects that are not deleted, locked: nobody else adds events to them. */
export async function lockSubscriptions(tx: Tx, projects: readonly ProjectRef[]): Promise<SubscriptionRow[]> {
  return tx<SubscriptionRow[]>`
    select s.* from (select * from ${rowsOf(tx, 'p', projects, PROJECT_KEY)} order by project_id) p
    cross join lateral (
      select ${columns(tx)} from event_subscriptions s
      where s.tenant_id = p.tenant_id and s.project_id = p.project_id and s.deleted_at is null
      order by s.subscription_id for no key update) s`;
}

/** A player of a fact, as the database says now. */
export interface FactPlayer extends PlayerRef {
  /** The player into whom the fact's player was merged, else the fact's player. */
  now_player_id: string;
  external_id: string | null;
  /** Deleted or erased. */
  is_gone: boolean;
}

/** The players of facts as they are now; a player that is not known is absent. */
export async function selectFactPlayers(tx: Tx, players: readonly PlayerRef[]): Promise<FactPlayer[]> {
  return tx<FactPlayer[]>`
    select r.tenant_id, r.project_id, r.player_id, p.player_id as now_player_id, p.external_id,
      p.deleted_at is not null or p.erased_at is not null as is_gone
    from ${rowsOf(tx, 'r', players, { ...PROJECT_KEY, player_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.player_id = r.player_id and m.tenant_id = r.tenant_id and m.project_id = r.project_id offset 0) m on true
    cross join lateral (
      select p.player_id, p.external_id, p.deleted_at, p.erased_at from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p`;
}

/** A member of a segment, or one that may be. */
export interface Member extends PlayerRef {
  segment_id: string;
}

/** Those of these that are members of their segments now. */
export async function selectMembers(tx: Tx, asked: readonly Member[]): Promise<Member[]> {
  if (asked.length === 0) return [];
  return tx<Member[]>`
    select r.tenant_id, r.project_id, r.player_id, r.segment_id
    from ${rowsOf(tx, 'r', asked, { ...PROJECT_KEY, player_id: 'uuid', segment_id: 'uuid' })}
    cross join lateral (
      select from segment_members m
      where m.segment_id = r.segment_id and m.player_id = r.player_id and m.tenant_id = r.tenant_id
        and m.project_id = r.project_id offset 0) m`;
}

/** Returns a row while the end of a break is to be noted. */
export const breakWork: WorkQuery = (sql, now) => sql`
  select from subscription_break_ends where ends_at <= ${now} order by ends_at limit 1`;

/**
 * Notes up to `limit` breaks that are over as facts, unless something else ended them before; returns how many were looked
 * at.
 */
export async function noteBreakEnds(sql: Tx, now: Date, limit: number): Promise<number> {
  const [row] = await sql<{ over: number }[]>`
    with over as materialized (
      delete from subscription_break_ends where ctid in (
        select ctid from subscription_break_ends where ends_at <= ${now} order by ends_at limit ${limit}
        for update skip locked)
      returning tenant_id, project_id, exclusion_id, ends_at),
    noted as (
      insert into subscription_facts (tenant_id, project_id, event, fact_key, player_ids, data, occurred_at)
      select x.tenant_id, x.project_id, 'exclusion.ended', 'exclusion ' || x.exclusion_id || ' exclusion.ended',
        array[x.player_id], jsonb_build_object('exclusion_id', x.exclusion_id, 'kind', x.kind, 'since', iso_time(x.since),
          'ends_at', iso_time(x.ends_at), 'source', 'clock'), x.ends_at
      from over o
      cross join lateral (
        select * from player_exclusions x
        where x.tenant_id = o.tenant_id and x.project_id = o.project_id and x.exclusion_id = o.exclusion_id
          and x.ends_at = o.ends_at and (x.ended_at is null or x.ended_at >= x.ends_at) offset 0) x
      where is_subscribed(x.tenant_id, x.project_id, 'exclusion.ended'))
    select count(*)::integer as over from over`;
  return row?.over ?? 0;
}

/** Facts whose events are not queued yet, counted up to `most`, for the metrics. */
export async function readFactsToQueue(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(occurred_at))::float8 as oldest_ms from (
      select occurred_at from subscription_facts limit ${most}) f`;
  return row ?? { items: 0, oldest_ms: null };
}
