import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { GrantRef } from '../grants/grant-row.ts';

/** A grant that ended long ago, and whose bets are still kept. */
export interface OldGrant extends GrantRef {
  player_id: string;
  adapter_slug: string;
}

const isOne = (sql: Tx, { tenant_id, project_id, grant_id }: GrantRef) =>
  sql`grant_id = ${grant_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;

/** Grants that ended before `before` and whose bets are kept, those that ended first. */
export async function selectOldGrants(sql: Tx, before: Date, limit: number): Promise<OldGrant[]> {
  return sql<OldGrant[]>`
    select g.tenant_id, g.project_id, g.grant_id, g.player_id, g.adapter_slug from bonus_grants g
    where g.ended_at is not null and g.wagering_record <> 'removed' and g.ended_at < ${before}
    order by g.ended_at, g.grant_id limit ${limit}`;
}

/** From then on no bet changes the sums of these grants. Waits for transactions that count for one of them. */
export async function closeGrants(sql: Tx, grants: readonly GrantRef[], before: Date): Promise<void> {
  await sql`
    with old as materialized (
      select g.ctid from (
        select * from ${rowsOf(sql, 'r', grants, { ...PROJECT_KEY, grant_id: 'uuid' })}
        order by grant_id) r
      cross join lateral (
        select g.ctid from bonus_grants g
        where g.grant_id = r.grant_id and g.tenant_id = r.tenant_id and g.project_id = r.project_id
          and g.ended_at < ${before} and g.wagering_record = 'open'
        for no key update) g)
    update bonus_grants g set wagering_record = 'closed' from old where g.ctid = old.ctid`;
}

/** Removes at most `limit` bets that the closed grant took; returns how many. */
export async function removeBets(sql: Tx, grant: GrantRef, limit: number): Promise<number> {
  const { count } = await sql`
    delete from bonus_contributions c using (
      select o.ctid from bonus_contributions o where ${isOne(sql, grant)} limit ${limit} for update) old
    where c.ctid = old.ctid`;
  return count;
}

/** Removes at most `limit` breaches of the closed grant; returns how many. The grant keeps their number. */
export async function removeBreaches(sql: Tx, grant: GrantRef, limit: number): Promise<number> {
  const { count } = await sql`
    delete from bonus_breaches b using (
      select o.ctid from bonus_breaches o where ${isOne(sql, grant)} limit ${limit} for update) old
    where b.ctid = old.ctid`;
  return count;
}

/**
 * Removes at most `limit` bets from before `before` that no grant took, of the grant's player and of those merged into it;
 * returns how many. None while the player has a grant that may still take one.
 */
export async function removeUntakenBets(
  sql: Tx,
  { tenant_id, project_id, player_id }: OldGrant,
  before: Date,
  limit: number,
): Promise<number> {
  const { count } = await sql`
    delete from bonus_contributions c using (
      select o.ctid from (
        select ${player_id}::uuid as player_id
        union all
        select m.player_id from player_merges m
        where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.into_player_id = ${player_id}) p
      cross join lateral (
        select o.ctid from bonus_contributions o
        where o.player_id = p.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
          and o.occurred_at < ${before} and o.grant_id is null
        limit ${limit} for update) o
      where not exists (select from bonus_grants g
        where g.player_id = ${player_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
          and (g.ended_at is null or g.wagering_record = 'open'))
      limit ${limit}) old
    where c.ctid = old.ctid`;
  return count;
}

/** Marks the grant as one whose bets are removed, and removes what a sandbox kept of it. */
export async function markRemoved(sql: Tx, grant: OldGrant): Promise<void> {
  const { tenant_id, project_id, adapter_slug, grant_id } = grant;
  await sql`
    delete from sandbox_bonuses
    where tenant_id = ${tenant_id} and project_id = ${project_id} and adapter_slug = ${adapter_slug}
      and grant_id = ${grant_id}`;
  await sql`update bonus_grants set wagering_record = 'removed' where ${isOne(sql, grant)} and ended_at is not null`;
}
