import type { PendingQuery, Row } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { recipientOf, verdictSql, type Gate } from '../messaging/gate-queries.ts';
import type { SkipCode } from '../messaging/send-row.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { SCOPE } from '../../segments/sql/owner-sql.ts';
import { EVERYBODY } from '../member-ranges/range-queries.ts';
import { membersSql, type Audience } from './fan-out-queries.ts';

/** With more members than this the tables are joined as a whole. */
const MANY_MEMBERS = 50_000;

/**
 * Settings of a transaction that joins the tables as a whole. Without nested loops, because without statistics the
 * planner would join row by row; a million members are joined in memory, without temporary files.
 */
export const AS_SETS: Readonly<Record<string, string>> = { enable_nestloop: 'off', work_mem: '128MB' };

/** Which members are counted, and how they are read. */
export interface Counting {
  /** In {@link AS_SETS}. */
  as_sets: boolean;
  /** These players, if they are members; absent: all members. */
  player_ids?: readonly string[];
  /** Whether members who have an own hour are counted apart: they get the message at it. */
  with_hours: boolean;
}

/** One row when the segment has many members; else none. */
export function selectManyMembers(
  tx: Tx,
  { tenant_id, project_id, segment_id }: Audience,
): PendingQuery<Row[]> {
  return tx`
    select from segment_members
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}::uuid
    offset ${MANY_MEMBERS} limit 1`;
}

/** How many members a segment has, and whether every change of them that was committed is in ClickHouse, too. */
export interface SegmentSize {
  members: bigint;
  is_copied: boolean;
}

/** The size of the segment, as every change of its members keeps it; no row when it was deleted. */
export function selectSize(
  tx: Tx,
  { tenant_id, project_id, segment_id }: Audience,
): PendingQuery<SegmentSize[]> {
  return tx<SegmentSize[]>`
    select s.estimated_size as members, not exists (
      select from segment_changes c
      where c.tenant_id = s.tenant_id and c.project_id = s.project_id and c.segment_id = s.segment_id) as is_copied
    from segments s
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.segment_id = ${segment_id}::uuid
      and s.deleted_at is null`;
}

/** Hashes of ids are whole numbers below this. */
const HASHES = 2 ** 31;

/**
 * A share of the segment's members in ClickHouse, at most `limit`, chosen by the hash of the player's id: the same ones each
 * time, and the least hashes when there are more. ClickHouse hashes a million ids in 20 ms.
 */
export async function selectCopiedSample(
  clickhouse: ClickHouseQueries,
  { tenant_id, project_id, segment_id }: Audience,
  share: number,
  limit: number,
): Promise<string[]> {
  const rows = await clickhouse.query<{ player_id: string }>(
    `select player_id from segment_members
    where ${SCOPE} and segment_id = {segment_id:UUID} and cityHash64(player_id) % ${HASHES} < {below:UInt32}
    group by player_id having argMax(is_deleted, revision) = 0
    order by cityHash64(player_id) % ${HASHES}, player_id limit {limit:UInt32} settings max_execution_time = 2`,
    { tenant_id, project_id, segment_id, below: Math.ceil(share * HASHES), limit },
  );
  return rows.map(({ player_id }) => player_id);
}

/** The same of the memberships themselves, with another hash. Reads every entry of their index once. */
export function selectSample(
  tx: Tx,
  { tenant_id, project_id, segment_id }: Audience,
  share: number,
  limit: number,
): PendingQuery<{ player_id: string }[]> {
  const hash = tx`(uuid_hash(player_id) & ${HASHES - 1})`;
  return tx<{ player_id: string }[]>`
    select player_id from segment_members
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}::uuid
      and ${hash} < ${Math.ceil(share * HASHES)}
    order by ${hash}, player_id limit ${limit}`;
}

/** How many members have a verdict of the gate; null: a message may go out to them. */
export interface VerdictCount {
  verdict: SkipCode | null;
  /** Null: players without one. */
  timezone: string | null;
  has_hours: boolean;
  members: bigint;
}

/**
 * Counts the members by the verdict of the gate, their time zone, and whether they have hours of their own. `product`: of the bonus that the message is about; null: about none.
 */
export function countVerdicts(
  tx: Tx,
  audience: Audience,
  gate: Gate,
  product: RuleProduct | null,
  counting: Counting,
): PendingQuery<VerdictCount[]> {
  const recipient = recipientOf(tx, audience.channel);
  return tx<VerdictCount[]>`
    select verdict, timezone, has_hours, count(*) as members
    from (
      select ${verdictSql(tx, gate, recipient, tx`${product}::text`)} as verdict, p.timezone,
        ${counting.with_hours ? tx`p.session_hours is not null` : tx`false`} as has_hours
      ${countedSql(tx, audience, counting)} offset 0
    ) j
    group by verdict, timezone, has_hours`;
}

function countedSql(tx: Tx, audience: Audience, { as_sets, player_ids }: Counting): PendingQuery<Row[]> {
  const members = membersSql(tx, audience, EVERYBODY, { as_sets });
  return player_ids === undefined
    ? members
    : tx`${members} and m.player_id = any(${plainArray(player_ids)}::text::uuid[])`;
}
