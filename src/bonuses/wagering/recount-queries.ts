import { LAST_SEEN_SQL } from '../../analytics/mirrored-columns.ts';
import type { PendingQuery } from 'postgres';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { GrantRef } from '../grants/grant-row.ts';
import type { BetName } from './count-queries.ts';

/** A grant whose bets are to be counted again, or looked up. */
export interface DueGrant extends GrantRef {
  player_id: string;
  activated_at: Date;
  /** The earlier of its expiry and its end. */
  until: Date | null;
  /** Grows with every merge. */
  recount_seq: number;
}

/** A grant whose bets were counted for another window than it has. */
export interface GrantToCount extends DueGrant {
  /** There are recorded bets that it takes, or might take. */
  has_bets: boolean;
}

/** A grant whose bets from before it was stored may not be recorded. */
export interface GrantToLookUp extends DueGrant {
  /** Its player was seen since a day before the activation: before that not even a clock that is ahead made bets for it. */
  has_events: boolean;
  /** The player and those that were merged into it. */
  bettor_ids: string[];
}

/** The player of the grant `g` and those that were merged into it: bets are recorded for the one that placed them. */
const bettorsOf = (sql: Tx) => sql`
  (select g.player_id
    union all
    select m.player_id from player_merges m
    where m.tenant_id = g.tenant_id and m.project_id = g.project_id and m.into_player_id = g.player_id)`;

const dueColumns = (sql: Tx) => sql`
  g.tenant_id, g.project_id, g.grant_id, g.player_id, g.activated_at, g.recount_seq,
  least(g.expires_at, g.ended_at) as until`;

/** Returns a row while a grant is to be counted, or while `hasMore`: there are further pages of another kind. */
export function recountWork(hasMore: () => boolean): WorkQuery {
  return (sql) => (hasMore() ? sql`select true` : selectDue(sql, NIL_ID, 1));
}

/** Grants to count, in the order of their ids. */
export function selectDue(sql: Tx, after: string, limit: number): PendingQuery<GrantToCount[]> {
  return sql<GrantToCount[]>`
    select ${dueColumns(sql)},
      exists (select from ${bettorsOf(sql)} p cross join lateral (
          select from bonus_contributions c where c.player_id = p.player_id and c.occurred_at >= g.activated_at
            and c.tenant_id = g.tenant_id and c.project_id = g.project_id limit 1) c offset 0)
      or exists (select from bonus_contributions c where c.grant_id = g.grant_id and c.tenant_id = g.tenant_id
        and c.project_id = g.project_id offset 0) as has_bets
    from bonus_grants g
    where g.grant_id > ${after} and g.activated_at is not null
      and (g.activated_at is distinct from g.counted_from
        or least(g.expires_at, g.ended_at) is distinct from g.counted_until)
      and (g.ended_at is null or g.wagering_record = 'open')
    order by g.grant_id limit ${limit}`;
}

/**
 * Grants to look bets up for, in the order of their ids. Bets are recorded from the commit of a grant on, and the player
 * was seen before an event of it is counted; `ahead_ms` is how far the time of an event may be beyond that.
 */
export function selectToLookUp(
  sql: Tx,
  after: string,
  limit: number,
  ahead_ms: number,
): PendingQuery<GrantToLookUp[]> {
  return sql<GrantToLookUp[]>`
    select ${dueColumns(sql)}, array(select p.player_id::text from ${bettorsOf(sql)} p) as bettor_ids,
      exists (select from player_totals t where t.tenant_id = g.tenant_id and t.project_id = g.project_id
        and t.player_id = g.player_id
        and ${sql.unsafe(LAST_SEEN_SQL)} >= g.activated_at - ${ahead_ms}::integer * interval '1 millisecond' offset 0) as has_events
    from bonus_grants g
    where g.grant_id > ${after} and g.activated_at is not null
      and (not g.are_bets_recorded or g.activated_at < coalesce(g.recorded_from, g.created_at))
      and (g.ended_at is null or g.wagering_record = 'open')
    order by g.grant_id limit ${limit}`;
}

/** The place after which a page of bets begins. */
export interface BetPosition extends BetName {
  occurred_at: Date;
}

/** The recorded bets of the grant's player since it was activated, a page in the order of their times. */
export async function selectBetsSince(
  sql: Tx,
  { tenant_id, project_id, player_id, activated_at, until }: DueGrant,
  after: BetPosition | undefined,
  limit: number,
): Promise<BetPosition[]> {
  const g = sql`(select ${player_id}::uuid as player_id, ${tenant_id}::uuid as tenant_id,
    ${project_id}::uuid as project_id) g`;
  return sql<BetPosition[]>`
    select c.kind, c.bet_id, c.occurred_at from ${g}
    cross join lateral ${bettorsOf(sql)} p
    cross join lateral (
      select c.kind, c.bet_id, c.occurred_at from bonus_contributions c
      where c.player_id = p.player_id and c.tenant_id = ${tenant_id} and c.project_id = ${project_id}
        and c.occurred_at >= ${activated_at} and (${until}::timestamptz is null or c.occurred_at <= ${until})
        ${after === undefined ? sql`` : sql`and (c.occurred_at, c.kind, c.bet_id) > (${after.occurred_at}, ${after.kind}::bet_kind, ${after.bet_id})`}
      order by c.occurred_at, c.kind, c.bet_id limit ${limit}) c
    order by c.occurred_at, c.kind, c.bet_id limit ${limit}`;
}

/** Bets that the grant has taken and that are outside of its window now. */
export async function selectStrays(
  sql: Tx,
  { tenant_id, project_id, grant_id, activated_at, until }: DueGrant,
  limit: number,
): Promise<BetName[]> {
  return sql<BetName[]>`
    select c.kind, c.bet_id from bonus_contributions c
    where c.grant_id = ${grant_id} and c.tenant_id = ${tenant_id} and c.project_id = ${project_id}
      and (c.occurred_at < ${activated_at} or c.occurred_at > ${until}::timestamptz)
    order by c.occurred_at, c.kind, c.bet_id limit ${limit}`;
}

/**
 * Marks grants as counted for these windows, but not those that have another window by now, and those whose player was
 * merged since they were read. It locks the grants in any order, and a merge those of its player, so it may have to be run again:
 * see `retryConflicts`.
 */
export async function markCounted(sql: Tx, grants: readonly DueGrant[]): Promise<void> {
  if (grants.length === 0) return;
  await sql`
    update bonus_grants g set counted_from = r.activated_at, counted_until = r.until
    from ${unchanged(sql, grants)}
    where ${isUnchanged(sql)} and least(g.expires_at, g.ended_at) is not distinct from r.until`;
}

/** Marks the bets of grants since their activation as recorded, under the same condition. */
export async function markRecorded(sql: Tx, grants: readonly DueGrant[]): Promise<void> {
  if (grants.length === 0) return;
  await sql`
    update bonus_grants g set are_bets_recorded = true, recorded_from = r.activated_at
    from ${unchanged(sql, grants)}
    where ${isUnchanged(sql)}`;
}

const isUnchanged = (sql: Tx) => sql`
  g.ctid = found.ctid and g.activated_at is not distinct from r.activated_at
    and g.recount_seq = r.recount_seq and g.player_id = r.player_id`;

/** The grants as they were read (`r`), and their rows (`found`). */
function unchanged(sql: Tx, grants: readonly DueGrant[]) {
  return sql`
    (
      select tenant_id, project_id, grant_id, player_id, recount_seq,
        'epoch'::timestamptz + from_ms * interval '1 millisecond' as activated_at,
        'epoch'::timestamptz + until_ms * interval '1 millisecond' as until
      from ${rowsOf(sql, 'r', grants, {
        ...PROJECT_KEY,
        grant_id: 'uuid',
        player_id: 'uuid',
        recount_seq: 'integer',
        from_ms: ['bigint', (g) => g.activated_at.getTime()],
        until_ms: ['bigint', (g) => g.until?.getTime() ?? null],
      })}
    ) r
    cross join lateral (
      select o.ctid from bonus_grants o
      where o.grant_id = r.grant_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id offset 0) found`;
}

/** A bet in all projects. */
export interface BetKey extends BetName, ProjectRef {}

/** Bets that were taken before a rate of their currency was known, in the order of their keys. */
export async function selectWithoutRate(
  sql: Tx,
  after: BetKey | undefined,
  limit: number,
): Promise<BetKey[]> {
  const { bet_id, kind, tenant_id, project_id } = after ?? {};
  const key = sql`c.bet_id, c.kind, c.tenant_id, c.project_id`;
  const beyond =
    bet_id === undefined
      ? sql``
      : sql`and (${key}) > (${bet_id}, ${kind ?? 'casino'}::bet_kind, ${tenant_id ?? ''}::uuid, ${project_id ?? ''}::uuid)`;
  return sql<BetKey[]>`
    select ${key} from bonus_contributions c
    where c.grant_id is not null and c.contribution is null ${beyond}
    order by ${key} limit ${limit}`;
}
