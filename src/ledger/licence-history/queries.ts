import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { insertLimits, type PlayerLimit } from '../../protection/limits/limit-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { isEnded } from '../withdrawals/queries.ts';

interface NextPage extends ProjectRef {
  project_no: number;
  reference: string;
  ordinal: number;
}

/**
 * Notes the open withdrawals of the next page of the ledger of a project from before, in the caller's transaction; false: all
 * ledgers are read. The fold and merges may run meanwhile. Rejects with WriteConflict when a player was merged since the page
 * was read.
 */
export async function readLedgerPage(tx: Tx, limit: number): Promise<boolean> {
  const [next] = await tx<NextPage[]>`
    select h.tenant_id, h.project_id, h.reference, h.ordinal, p.project_no
    from licence_history h join projects p using (tenant_id, project_id)
    where not h.is_ledger_read order by h.tenant_id, h.project_id limit 1
    for no key update of h skip locked`;
  if (next === undefined) return false;
  const { tenant_id, project_id, project_no } = next;
  const page = await tx<{ reference: string; ordinal: number; player_id: string | null }[]>`
    select w.reference, w.ordinal,
      case when w.event = 'withdrawal_requested' and not ${isEnded(tx)} then w.player_id end as player_id
    from (
      select l.project_no, l.reference, l.ordinal, l.event, l.player_id from ledger l
      where l.project_no = ${project_no} and (l.reference, l.ordinal) > (${next.reference}, ${next.ordinal}::integer)
      order by l.reference, l.ordinal limit ${limit}) w
    order by w.reference, w.ordinal`;
  const found = page.flatMap(({ reference, player_id }) =>
    player_id === null ? [] : [{ reference, player_id }],
  );
  const owners = await lockOwners(tx, next, found);
  const open = found.flatMap(({ reference, player_id }) => {
    const owner = owners.get(player_id);
    return owner === undefined ? [] : [{ reference, player_id: owner }];
  });
  await tx`
    insert into open_withdrawals (player_id, tenant_id, project_id, reference)
    select r.player_id, ${tenant_id}, ${project_id}, r.reference
    from ${rowsOf(tx, 'r', open, { player_id: 'uuid', reference: 'text' })}
    order by r.reference
    on conflict do nothing`;
  const last = page.at(-1);
  await tx`
    update licence_history set reference = ${last?.reference ?? next.reference}, ordinal = ${last?.ordinal ?? next.ordinal},
      is_ledger_read = ${page.length < limit}
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return true;
}

/**
 * The players who have the rows of these ids now, by id, locked against merges until the transaction ends; those who are
 * deleted are omitted. Rejects with WriteConflict when one was merged since the ids were looked up.
 */
async function lockOwners(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  rows: readonly { player_id: string }[],
): Promise<Map<string, string>> {
  const named = [...new Set(rows.map(({ player_id }) => player_id))];
  if (named.length === 0) return new Map();
  const merges = await tx<{ player_id: string; into_player_id: string }[]>`
    select m.player_id, m.into_player_id from player_merges m
    where m.player_id = any(${plainArray(named)}::text::uuid[]) and m.tenant_id = ${tenant_id}
      and m.project_id = ${project_id}`;
  const survivors = new Map(merges.map(({ player_id, into_player_id }) => [player_id, into_player_id]));
  const ids = [...new Set(named.map((id) => survivors.get(id) ?? id))].sort();
  const players = await tx<{ player_id: string; is_deleted: boolean }[]>`
    select p.player_id, p.is_deleted
    from (select * from unnest(${plainArray(ids)}::text::uuid[]) as r (player_id) order by 1) r
    cross join lateral (
      select p.player_id, p.deleted_at is not null as is_deleted from players p
      where p.player_id = r.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id} for share) p`;
  if (players.length < ids.length) throw new WriteConflict('a player was merged into another');
  const live = new Set(players.flatMap(({ player_id, is_deleted }) => (is_deleted ? [] : [player_id])));
  return new Map(
    named.flatMap((id) => {
      const owner = survivors.get(id) ?? id;
      return live.has(owner) ? [[id, owner] as const] : [];
    }),
  );
}

/** The projects of which the ledger is read, and the limits are not. */
export function selectToReadLimits(tx: Tx): Promise<ProjectRef[]> {
  return tx<ProjectRef[]>`
    select tenant_id, project_id from licence_history where is_ledger_read order by tenant_id, project_id`;
}

/** A `deposit_limit_set` as ClickHouse has it. */
export interface LimitEvent {
  player_id: string;
  /** Milliseconds; never after it was received. */
  at_ms: string;
  properties: string;
  occurred_ms: string;
  ingestion_id: string;
  event_index: number;
}

/** The next events that set limits, after `after` in their order; undefined: the first ones. An event may come twice. */
export function selectLimitEvents(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  after: LimitEvent | undefined,
  limit: number,
): Promise<LimitEvent[]> {
  const { occurred_ms = '0', ingestion_id = '', event_index = 0 } = after ?? {};
  const is_after =
    after === undefined
      ? ''
      : `and (e.occurred_at, e.ingestion_id, e.event_index)
          > (fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC'), toUUID({ingestion_id:String}), {event_index:UInt16})`;
  return clickhouse.query<LimitEvent>(
    `select toString(e.player_id) as player_id,
      toString(toUnixTimestamp64Milli(least(e.occurred_at, e.received_at))) as at_ms, e.properties as properties,
      toString(toUnixTimestamp64Milli(e.occurred_at)) as occurred_ms, toString(e.ingestion_id) as ingestion_id,
      e.event_index as event_index
    from events e
    where e.tenant_id = {tenant_id:UUID} and e.project_id = {project_id:UUID} and e.event = 'deposit_limit_set' ${is_after}
    order by e.occurred_at, e.ingestion_id, e.event_index
    limit {limit:UInt32}`,
    { tenant_id, project_id, occurred_ms, ingestion_id, event_index, limit },
  );
}

/** Keeps limits of a project for the players who have them now, in the caller's transaction. Rejects as `readLedgerPage`. */
export async function insertOldLimits(
  tx: Tx,
  project: ProjectRef,
  limits: readonly PlayerLimit[],
): Promise<void> {
  const owners = await lockOwners(tx, project, limits);
  await insertLimits(
    tx,
    limits.flatMap((limit) => {
      const player_id = owners.get(limit.player_id);
      return player_id === undefined ? [] : [{ ...limit, player_id }];
    }),
  );
}

/** The project's history is read. */
export async function endHistory(tx: Tx, { tenant_id, project_id }: ProjectRef): Promise<void> {
  await tx`delete from licence_history where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}
