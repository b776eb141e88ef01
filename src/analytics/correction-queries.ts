import type { PendingQuery, Row } from 'postgres';
import type { ClickHouse } from '../platform/clickhouse/port.ts';
import { plainArray } from '../platform/postgres/arrays.ts';
import { newId } from '../platform/ids.ts';
import type { Db, Session, Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import { revisionSql } from './epoch-queries.ts';

/**
 * The name of the advisory lock of the one rewriter that works. A rebuild of ClickHouse holds it, too: rows must not be
 * derived from rows that are being replaced.
 */
export const REWRITER_LOCK = 'event-rewriter';

/** Locks out every other rewriter until the session ends; false when another rewriter holds the lock. */
export async function tryLockAsRewriter({ sql }: Session): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`
    select pg_try_advisory_lock(hashtext(${REWRITER_LOCK})) as locked`;
  return row?.locked ?? false;
}

/** Returns a row while a correction, a merge, or history to count waits for a rewriter. */
export function rewriterWork(sql: Tx): PendingQuery<Row[]> {
  return sql`
    select where exists (select from event_corrections) or exists (select from recounts)
      or exists (select from player_merges where rewritten_at is null)`;
}

/** A player that was merged into another. */
export interface Merge extends ProjectRef {
  player_id: string;
  into_player_id: string;
}

/** Merges without an alias in ClickHouse, oldest first. */
export async function readMergesToAlias(sql: Tx, limit: number): Promise<Merge[]> {
  return sql<Merge[]>`
    select tenant_id, project_id, player_id, into_player_id from player_merges
    where rewritten_at is null and aliased_at is null
    order by merged_at limit ${limit}`;
}

/** Merges with an alias in ClickHouse whose rows are not rewritten yet, oldest first. */
export async function readMergesToRewrite(
  sql: Tx,
  limit: number,
): Promise<(Merge & { waiting_ms: number })[]> {
  return sql<(Merge & { waiting_ms: number })[]>`
    select tenant_id, project_id, player_id, into_player_id,
      (extract(epoch from now() - aliased_at) * 1000)::float8 as waiting_ms
    from player_merges
    where rewritten_at is null and aliased_at is not null
    order by merged_at limit ${limit}`;
}

/** Marks merges as aliased or rewritten, except those whose survivor was itself merged in the meantime. */
export async function markMerges(
  sql: Tx,
  merges: readonly Merge[],
  column: 'aliased_at' | 'rewritten_at',
): Promise<void> {
  await sql`
    update player_merges m set ${sql(column)} = now()
    from ${rowsOf(sql, 'r', merges, { ...PROJECT_KEY, player_id: 'uuid', into_player_id: 'uuid' })}
    where m.tenant_id = r.tenant_id and m.project_id = r.project_id and m.player_id = r.player_id
      and m.into_player_id = r.into_player_id`;
}

/** A row of the ledger whose base amounts, or what it counts, changed after its event was emitted. */
export interface Correction extends ProjectRef {
  correction_id: bigint;
  reference: string;
  ordinal: number;
  /** An attempt to write it has begun before. */
  is_tried: boolean;
}

/** The most tenants of which corrections are read at once; the next ones have their turn when these have fewer. */
const MAX_TENANTS = 100;

/**
 * The oldest corrections of each tenant, as many of each: the restated history of one must not hold up the others. After
 * `after` in the order of tenants, and from the first one on where there are none behind it.
 */
export async function readCorrections(sql: Tx, limit: number, after?: string): Promise<Correction[]> {
  const next = (beyond: ReturnType<typeof sql>) => sql`
    select c.tenant_id from event_corrections c where ${beyond} order by c.tenant_id limit 1`;
  const read = (beyond: ReturnType<typeof sql>) => sql<Correction[]>`
    with recursive tenants as (
      (${next(beyond)})
      union all
      select n.tenant_id from tenants t cross join lateral (${next(sql`c.tenant_id > t.tenant_id`)}) n
    ), lane as (
      select tenant_id from tenants limit ${Math.min(MAX_TENANTS, limit)}
    )
    select c.correction_id, c.tenant_id, c.project_id, c.reference, c.ordinal, c.is_tried from lane cross join lateral (
      select * from event_corrections c where c.tenant_id = lane.tenant_id order by c.correction_id
      limit (select ${limit}::integer / count(*) from lane)) c
    order by c.tenant_id, c.correction_id`;
  const found = after === undefined ? [] : await read(sql`c.tenant_id > ${after}::uuid`);
  return found.length > 0 ? found : read(sql`true`);
}

/** Has the rows' events written anew with what the ledger says then. In the transaction that changes it. */
export async function queueCorrections(
  tx: Tx,
  rows: readonly Omit<Correction, 'correction_id' | 'is_tried'>[],
): Promise<void> {
  await tx`
    insert into event_corrections (tenant_id, project_id, reference, ordinal)
    select tenant_id, project_id, reference, ordinal
    from ${rowsOf(tx, 'r', rows, { ...PROJECT_KEY, reference: 'text', ordinal: 'integer' })}`;
}

/** Notes that an attempt to write these corrections begins: after it ClickHouse may have their amounts. */
export async function noteAttempt(sql: Tx, ids: readonly bigint[]): Promise<void> {
  await sql`
    update event_corrections c set is_tried = true from unnest(${plainArray(ids)}::text::bigint[]) as r (correction_id)
    where c.correction_id = r.correction_id and not c.is_tried`;
}

/**
 * Queues the next rows of a project whose events are from before ClickHouse had what they count: of the one of which the fewest
 * pages are queued. False when all are queued.
 * One statement, outside the rewriter's session: after a crash it goes on where it was, and two rewriters queue at most the
 * same rows.
 */
export async function queueRecount(tx: Tx, limit: number): Promise<boolean> {
  const queued = await tx`
    with next as (
      select r.*, p.project_no from recounts r join projects p using (tenant_id, project_id)
      order by r.pages, tenant_id, project_id limit 1
    ), page as (
      select n.tenant_id, n.project_id, l.reference, l.ordinal from next n cross join lateral (
        select l.reference, l.ordinal from ledger l
        where l.project_no = n.project_no and (l.reference, l.ordinal) > (n.reference, n.ordinal)
        order by l.reference, l.ordinal limit ${limit}) l
    ), corrections as (
      insert into event_corrections (tenant_id, project_id, reference, ordinal) select * from page
    ), done as (
      delete from recounts r using next n
      where r.tenant_id = n.tenant_id and r.project_id = n.project_id
        and (select count(*) from page) < ${limit}
    ), moved as (
      update recounts r set reference = last.reference, ordinal = last.ordinal, pages = r.pages + 1
      from next n, (select reference, ordinal from page order by reference desc, ordinal desc limit 1) last
      where r.tenant_id = n.tenant_id and r.project_id = n.project_id
        and (select count(*) from page) = ${limit}
    )
    select from next`;
  return queued.length > 0;
}

export async function deleteCorrections(sql: Tx, ids: readonly bigint[]): Promise<void> {
  await sql`
    delete from event_corrections c using unnest(${plainArray(ids)}::text::bigint[]) as r (correction_id)
    where c.correction_id = r.correction_id`;
}

/** The newest correction; 0 when there is none. */
export async function newestCorrection(sql: Tx): Promise<bigint> {
  const [row] = await sql<
    { id: bigint }[]
  >`select coalesce(max(correction_id), 0) as id from event_corrections`;
  return row?.id ?? 0n;
}

/** Corrections of a project that are looked at for the players whose events they are of. */
const MAX_LOOKED_AT = 5_000;

/**
 * Which of these ids of players, or of players merged into others, have events that a correction waits to write anew; all
 * of them while the project has more corrections than can be looked at, or while its history is not counted.
 */
export function playersToCorrect(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): PendingQuery<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    with pending as materialized (
      select reference, ordinal from event_corrections
      where tenant_id = ${tenant_id} and project_id = ${project_id}
      order by correction_id limit ${MAX_LOOKED_AT}
    ),
    asked as materialized (
      select r.player_id, coalesce(m.into_player_id, r.player_id) as survivor_id
      from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
      left join lateral (
        select m.into_player_id from player_merges m
        where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = r.player_id offset 0) m
        on true
    )
    select a.player_id from asked a
    where (select count(*) from pending) = ${MAX_LOOKED_AT}
      or exists (select from recounts where tenant_id = ${tenant_id} and project_id = ${project_id})
      or a.survivor_id in (
        select coalesce(m.into_player_id, l.player_id) from pending c
        join projects p on p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
        cross join lateral (
          select l.player_id from ledger l
          where l.project_no = p.project_no and l.reference = c.reference and l.ordinal = c.ordinal offset 0) l
        ${tx.unsafe(JOIN_SURVIVOR)})`;
}

/** Whether history of a tenant, or of any of them, is still to be counted. */
export async function hasRecounts(sql: Tx, tenant_id: string | undefined): Promise<boolean> {
  const of_tenant = tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`;
  const found = await sql`
    select where exists (select from recounts where ${of_tenant})
      or exists (select from first_deposit_pages where ${of_tenant})`;
  return found.length > 0;
}

/** The number of open rate changes, of corrections up to `until_correction`, and of merges without an alias. */
export async function pendingWork(
  sql: Tx,
  until_correction = 0n,
): Promise<{ rate_changes: bigint; corrections: bigint; merges: bigint }> {
  const [row] = await sql<{ rate_changes: bigint; corrections: bigint; merges: bigint }[]>`
    select (select count(*) from fx_rate_changes) as rate_changes,
      (select count(*) from event_corrections where correction_id <= ${until_correction}) as corrections,
      (select count(*) from player_merges where rewritten_at is null and aliased_at is null) as merges`;
  return row ?? { rate_changes: 0n, corrections: 0n, merges: 0n };
}

/**
 * Adds or removes aliases, through which queries over many players resolve merged players. The later write wins: the
 * revision is the epoch and a transaction id of Postgres, because the clocks of several rewriters may differ. `sql` must not be a
 * transaction: while a transaction with an id is open, fx-restater and player-mirror wait for it.
 */
export async function writeAliases(
  sql: Db,
  clickhouse: ClickHouse,
  merges: readonly Merge[],
  is_deleted: 0 | 1,
): Promise<void> {
  const within = 'pg_current_xact_id()::text::numeric';
  const [row] = await sql<
    { revision: string }[]
  >`select ${sql.unsafe(revisionSql(within))}::text as revision`;
  if (row === undefined) throw new Error('Postgres gave no transaction id');
  const { revision } = row;
  const lines = merges.map((merge) => JSON.stringify({ ...merge, is_deleted, revision }));
  await clickhouse.insertLines('player_aliases', lines, newId());
  await clickhouse.command('system reload dictionary player_alias');
}

/** A row of ClickHouse's `events` as JSONEachRow: 64-bit integers, and times in milliseconds, are text. */
export type EventLine = Record<string, unknown> & {
  tenant_id: string;
  project_id: string;
  event: string;
  player_id: string;
  occurred_at: string;
  received_at: string;
  ingestion_id: string;
  event_index: number;
  /** JSON. */
  properties: string;
  revision: string;
};

/** What names an event in ClickHouse. */
export interface EventLineKey extends ProjectRef {
  event: string;
  occurred_at_ms: number;
  ingestion_id: string;
  event_index: number;
}

/** The present rows in ClickHouse of these events. */
export async function readEventLines(
  clickhouse: ClickHouse,
  events: readonly EventLineKey[],
): Promise<EventLine[]> {
  return clickhouse.query<EventLine>(
    `select tenant_id, project_id, event, player_id, toUnixTimestamp64Milli(e.occurred_at) as occurred_at,
      toUnixTimestamp64Milli(e.received_at) as received_at, ingestion_id, event_index, base_amount, base_payout,
      base_bonus_stake, base_bonus_payout, stake_counted, payout_counted, bonus_stake_counted, bonus_payout_counted,
      properties, revision
    from events as e final
    where (e.tenant_id, e.project_id, e.event, e.occurred_at, e.ingestion_id, e.event_index) in (
      select k.1, k.2, k.3, fromUnixTimestamp64Milli(k.4, 'UTC'), k.5, k.6
      from (select arrayJoin(arrayZip({tenants:Array(UUID)}, {projects:Array(UUID)}, {events:Array(String)},
        {times:Array(Int64)}, {ingestions:Array(UUID)}, {indexes:Array(UInt16)})) as k))`,
    {
      tenants: events.map((e) => e.tenant_id),
      projects: events.map((e) => e.project_id),
      events: events.map((e) => e.event),
      times: events.map((e) => e.occurred_at_ms),
      ingestions: events.map((e) => e.ingestion_id),
      indexes: events.map((e) => e.event_index),
    },
  );
}

const MERGED = 'arrayZip({tenants:Array(UUID)}, {projects:Array(UUID)}, {players:Array(UUID)})';

/** The index of a row's player among the merged players, from 1; 0: the player is not one of them. */
const FORMER_INDEX = `indexOf(${MERGED}, (tenant_id, project_id, player_id))`;

/**
 * Writes every event of the merged players again, with the survivor's id and a revision above all existing ones, and
 * then deletes the rows of the merged players. An event can have rows under both ids, when the fold crashed after a
 * merge and emitted its events again: then the row with the highest revision is taken, and among equal ones the
 * survivor's, which was written later. Only these events of the survivors are read, by their whole key, because a
 * survivor's history may be long. Idempotent. Rejects with StillRunning while an earlier call still runs in ClickHouse,
 * and as `beforeWrite` does, which is called before each write.
 */
export async function repointEvents(
  clickhouse: ClickHouse,
  merges: readonly Merge[],
  beforeWrite: () => Promise<void>,
): Promise<void> {
  const params = {
    tenants: merges.map((m) => m.tenant_id),
    projects: merges.map((m) => m.project_id),
    players: merges.map((m) => m.player_id),
  };
  // ClickHouse must not drop this insert as a duplicate. It has no token, and after a repair it inserts the same rows
  // again that it inserted before, which must be written.
  await beforeWrite();
  await clickhouse.rewrite(
    'rewrite-merged-events',
    `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
      base_amount, base_payout, base_bonus_stake, base_bonus_payout, stake_counted, payout_counted, bonus_stake_counted,
      bonus_payout_counted, item, item_group, properties, revision) settings insert_deduplicate = 0
    select tenant_id, project_id, event, owner as player_id, occurred_at, newest.1 as received_at, ingestion_id,
      event_index, newest.2 as base_amount, newest.3 as base_payout, newest.4 as base_bonus_stake,
      newest.5 as base_bonus_payout, newest.6 as stake_counted, newest.7 as payout_counted, newest.8 as bonus_stake_counted,
      newest.9 as bonus_payout_counted, newest.10 as item, newest.11 as item_group, newest.12 as properties, last_revision + 1 as revision
    from (
      select tenant_id, project_id, event, owner, occurred_at, ingestion_id, event_index, max(revision) as last_revision,
        argMax((received_at, base_amount, base_payout, base_bonus_stake, base_bonus_payout, stake_counted, payout_counted,
          bonus_stake_counted, bonus_payout_counted, item, item_group, properties), (revision, not is_former)) as newest
      from (
        select e.*, ${FORMER_INDEX} as former_index, former_index > 0 as is_former,
          if(is_former, arrayElement({survivors:Array(UUID)}, former_index), e.player_id) as owner
        from events_by_player as e final
        where (e.tenant_id, e.project_id, e.player_id, e.occurred_at, e.ingestion_id, e.event_index) in (
          select tenant_id, project_id, arrayJoin([player_id, arrayElement({survivors:Array(UUID)}, ${FORMER_INDEX})]),
            occurred_at, ingestion_id, event_index
          from events_by_player where (tenant_id, project_id, player_id) in (select arrayJoin(${MERGED})))
      )
      group by tenant_id, project_id, event, owner, occurred_at, ingestion_id, event_index
      having max(is_former)
    )`,
    { ...params, survivors: merges.map((m) => m.into_player_id) },
  );
  await beforeWrite();
  await clickhouse.deleteRows(
    'events_by_player',
    `(tenant_id, project_id, player_id) in (select arrayJoin(${MERGED}))`,
    params,
  );
}

/**
 * Joins to the ledger `l`, and to its project `p`, as `m` the survivor of its player, if it was merged: row by row through
 * the index.
 */
export const JOIN_SURVIVOR = `left join lateral (
  select m.into_player_id from player_merges m where m.tenant_id = p.tenant_id and m.project_id = p.project_id
    and m.player_id = l.player_id offset 0) m on true`;

/**
 * ClickHouse expression: the player to which a row of the table `alias` belongs now. Events of a merged player have the
 * old id until event-rewriter has rewritten them.
 */
export function survivorOf(alias: string): string {
  const key = `(${alias}.tenant_id, ${alias}.project_id, ${alias}.player_id)`;
  return `dictGetOrDefault('player_alias', 'into_player_id', ${key}, ${alias}.player_id)`;
}
