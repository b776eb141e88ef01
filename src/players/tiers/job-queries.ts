import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { TierRequest } from '../../ledger/tier-thresholds/queries.ts';
import type { TenantPlayer } from './apply.ts';

/**
 * Takes the oldest queued players of a tenant, each once; a rollback puts them back. What another process has taken is
 * passed over.
 */
export async function takeRequests(tx: Tx, tenant_id: string, limit: number): Promise<TenantPlayer[]> {
  const rows = await tx<TenantPlayer[]>`
    with taken as (
      select r.ctid from tier_requests r where r.tenant_id = ${tenant_id}
      order by r.request_id limit ${limit} for update skip locked
    )
    delete from tier_requests r using taken t where r.ctid = t.ctid
    returning r.project_id, r.player_id`;
  return [...new Map(rows.map((row) => [row.player_id, row])).values()];
}

/** Players whose tier is to be computed again. */
export async function readTierRequests(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(requested_at))::float8 as oldest_ms
    from (select requested_at from tier_requests limit ${most}) as waiting`;
  return row ?? { items: 0, oldest_ms: null };
}

/** A deadline of a player that has come. */
export interface DueTier extends TierRequest {
  due_at: string;
}

/**
 * The next deadlines that have come by `now`, the oldest first. The order names the table, because the name alone would be
 * the text that is selected.
 */
export async function selectDueTiers(
  sql: Tx,
  now: Date,
  after: Pick<DueTier, 'due_at' | 'player_id'> | undefined,
  limit: number,
): Promise<DueTier[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (due_at, player_id) > (${after.due_at}::text::timestamptz, ${after.player_id}::uuid)`;
  return sql<DueTier[]>`
    select tenant_id, project_id, player_id, due_at::text from tier_deadlines
    where due_at <= ${now} ${beyond} order by tier_deadlines.due_at, player_id limit ${limit}`;
}

/** The projects of a tenant. */
export async function selectProjects(sql: Tx, tenant_id: string): Promise<string[]> {
  const rows = await sql<{ project_id: string }[]>`
    select project_id from projects where tenant_id = ${tenant_id} order by project_id`;
  return rows.map(({ project_id }) => project_id);
}

/** The position of a player in the order of lists, which is about that of their last events. */
export interface SeenPosition {
  listed_at: string;
  player_id: string;
}

/**
 * The next players of a project, those seen longest ago first. A player who is active meanwhile moves ahead of the walk,
 * so none is missed. The order names the table, as above.
 */
export async function selectSeen(
  sql: Tx,
  tenant_id: string,
  project_id: string,
  after: SeenPosition | undefined,
  limit: number,
): Promise<(SeenPosition & { project_id: string; updated_at: Date })[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (listed_at, player_id) > (${after.listed_at}::text::timestamptz, ${after.player_id}::uuid)`;
  return sql<(SeenPosition & { project_id: string; updated_at: Date })[]>`
    select project_id, player_id, listed_at::text, updated_at from player_totals
    where tenant_id = ${tenant_id} and project_id = ${project_id} and listed_at > '-infinity' ${beyond}
    order by player_totals.listed_at, player_id limit ${limit}`;
}
