import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { grantPlayerColumns, type GrantPlayer } from '../grants/issue-queries.ts';

/**
 * The players of these ids that exist and are not deleted. `is_locked`: locked against change and against other grants
 * until the transaction ends, and without those that another transaction holds now.
 */
export async function selectGrantPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  is_locked: boolean,
): Promise<GrantPlayer[]> {
  return tx<GrantPlayer[]>`
    select p.* from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    cross join lateral (
      select ${grantPlayerColumns(tx)}
      from players p
      where p.player_id = r.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
      offset 0 ${is_locked ? tx`for no key update of p skip locked` : tx``}) p`;
}

/** Which of these players exist. */
export async function selectKnownPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx<{ player_id: string }[]>`
    select p.player_id from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    cross join lateral (
      select p.player_id from players p
      where p.player_id = r.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
        and p.deleted_at is null offset 0) p`;
  return new Set(rows.map(({ player_id }) => player_id));
}

/** The ids under which events of these players may be kept: of players that were merged into them. */
export async function selectFormerIds(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<{ player_id: string; into_player_id: string }[]> {
  return tx<{ player_id: string; into_player_id: string }[]>`
    select m.player_id, m.into_player_id from player_merges m
    where m.into_player_id = any(${plainArray(player_ids)}::text::uuid[]) and m.tenant_id = ${tenant_id}
      and m.project_id = ${project_id}`;
}

/** The last confirmed deposit in `currency` in [from_ms, until_ms], by the id that its event has; digits, smallest unit. */
export async function selectLastDeposits(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  of: { player_ids: readonly string[]; currency: string; from_ms: number; until_ms: number },
): Promise<{ player_id: string; amount: string; at_ms: string }[]> {
  return clickhouse.query<{ player_id: string; amount: string; at_ms: string }>(
    `select toString(player_id) as player_id, argMax(amount, (occurred_at, ingestion_id, event_index)) as amount,
      toString(toUnixTimestamp64Milli(max(occurred_at))) as at_ms
    from (
      select player_id, occurred_at, ingestion_id, event_index, JSONExtractString(properties, 'currency') as currency,
        replaceAll(JSONExtractRaw(properties, 'amount'), '"', '') as amount
      from events_by_player
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and player_id in ({player_ids:Array(UUID)}) and event = 'deposit_confirmed'
        and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
        and occurred_at <= fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
      order by revision desc
      limit 1 by ingestion_id, event_index
    )
    where currency = {currency:String}
    group by player_id`,
    { tenant_id, project_id, ...of },
  );
}
