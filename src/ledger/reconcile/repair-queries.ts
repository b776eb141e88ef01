import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Project } from './queries.ts';

const TABLES = ['events', 'events_by_player', 'players'] as const;

/** Removes a project's events and players from ClickHouse. Rejects with StillRunning while an earlier removal runs. */
export async function clearProject(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: Project,
): Promise<void> {
  for (const table of TABLES) {
    await clickhouse.deleteRows(table, 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}', {
      tenant_id,
      project_id,
    });
  }
}

/** Marks the next players of a project as changed, so that player-mirror copies them; returns the last one, if any. */
export async function touchPlayers(
  sql: Tx,
  { tenant_id, project_id }: Project,
  after: string | undefined,
  limit: number,
): Promise<string | undefined> {
  const [row] = await sql<{ last: string | null }[]>`
    with page as (
      select player_id from player_totals
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        ${after === undefined ? sql`` : sql`and player_id > ${after}`}
      order by player_id limit ${limit}
      for no key update
    ), touched as (
      update player_totals t set changed_xid = pg_current_xact_id() from page
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and t.player_id = page.player_id
      returning t.player_id
    )
    select max(player_id::text) as last from touched`;
  return row?.last ?? undefined;
}

/**
 * Queues again what changed a project's events after they were folded: event-rewriter gives rows in other currencies
 * their present base amounts, and rows of merged players the id of the survivor.
 */
export async function queueCorrections(sql: Tx, { tenant_id, project_id }: Project): Promise<void> {
  await sql`
    insert into event_corrections (tenant_id, project_id, reference, event, occurrence)
    select l.tenant_id, l.project_id, l.reference, l.event, l.occurrence
    from ledger l join tenants t on t.tenant_id = l.tenant_id
    where l.tenant_id = ${tenant_id} and l.project_id = ${project_id} and l.currency <> t.base_currency`;
  await sql`
    update player_merges set aliased_at = null, rewritten_at = null
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}
