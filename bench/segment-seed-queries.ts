import { plainArray } from '../src/platform/postgres/arrays.ts';
import type { ClickHouse } from '../src/platform/clickhouse/port.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

const DAYS = 90;

/** The id of the n-th player, the same as in Postgres: `md5(n::text)::uuid`. */
const PLAYER_ID = (n: string) => `toUUID(lower(hex(MD5(toString(${n})))))`;

/** Inserts into ClickHouse the players that `seedPlayers` inserts into Postgres; a tenth of them are gold. */
export async function seedMirroredPlayers(
  clickhouse: ClickHouse,
  project: ProjectRef,
  count: number,
): Promise<void> {
  await clickhouse.command(
    `insert into players (tenant_id, project_id, player_id, status, default_currency_code, current_tier_code,
      kyc_status, custom_attributes, first_seen_at, last_seen_at, total_deposited, created_at, revision)
    select {tenant_id:UUID}, {project_id:UUID}, ${PLAYER_ID('number + 1')}, 'active', 'EUR',
      if(number % 10 = 0, 'gold', null), 'none', '{}', now64(3) - toIntervalDay(${DAYS}), now64(3), number * 100, now64(3), 1
    from numbers({count:UInt64})`,
    { ...project, count },
  );
}

/**
 * Inserts events over 90 days in an order that mixes the players: 30 % bets, 30 % their settlements, 20 % logins, 10 % deposits,
 * 10 % others.
 * One statement inserts two million, so that ClickHouse merges parts as in a service that has run for long.
 */
export async function seedEvents(
  clickhouse: ClickHouse,
  project: ProjectRef,
  players: number,
  count: number,
): Promise<void> {
  const STEP = 2_000_000;
  for (let from = 0; from < count; from += STEP) {
    await clickhouse.command(
      `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
        base_amount, base_payout, properties, revision)
      select {tenant_id:UUID}, {project_id:UUID},
        multiIf(kind < 60, if(number % 2 = 0, 'bet_placed', 'bet_settled'), kind < 80, 'login', kind < 90,
          'deposit_confirmed', kind < 94, 'withdrawal_confirmed', kind < 97, 'bonus_claimed', 'custom_spin') as event,
        ${PLAYER_ID('intHash64(pair) % {players:UInt64} + 1')},
        now64(3) - toIntervalMillisecond(intHash64(pair * 7 + 1) % (${DAYS} * 86400000) + if(number % 2 = 0, 5000, 0)) as at, at,
        reinterpret(MD5(concat('event', toString(number))), 'UUID'), 0,
        if(event in ('bet_placed', 'bet_settled', 'deposit_confirmed', 'withdrawal_confirmed'),
          toInt64(intHash64(pair + 3) % 20000), null),
        if(event = 'bet_settled', toInt64(intHash64(pair + 13) % 2 * intHash64(pair + 3) % 38000), null),
        concat('{"amount":', toString(intHash64(pair + 3) % 20000), ',"currency":"EUR","game_category":"',
          ['slots', 'live', 'table', 'crash'][intHash64(pair + 5) % 4 + 1], '","bonus":"',
          ['welcome', 'reload'][intHash64(number + 9) % 2 + 1],
          if(kind < 60, concat('","bet_id":"', hex(MD5(toString(pair)))), ''), '"}'),
        0
      from (select number, intDiv(number, 2) as pair, intHash64(pair + 11) % 100 as kind
        from numbers({from:UInt64}, {size:UInt64}))`,
      { ...project, players, from, size: Math.min(STEP, count - from) },
    );
  }
}

/** Merges all parts of the tables, as ClickHouse does in a time without load. */
export async function mergeParts(clickhouse: ClickHouse): Promise<void> {
  for (const table of ['events', 'events_by_player', 'players', 'segment_members']) {
    await clickhouse.command(`optimize table ${table} final`);
  }
}

/** Stores the players that a statement matches as the members of a segment. */
export async function storeMembers(
  clickhouse: ClickHouse,
  project: ProjectRef,
  segment_id: string,
  query: { sql: string; params: Record<string, unknown> },
): Promise<void> {
  await clickhouse.command(
    `insert into segment_members (tenant_id, project_id, segment_id, player_id, revision)
    select {tenant_id:UUID}, {project_id:UUID}, {stored:UUID}, player_id, 1 from (${query.sql})`,
    { ...query.params, ...project, stored: segment_id, now_ms: Date.now() },
  );
}

/** How many players are in any of the segments `any_of` and in none of `none_of`. */
export async function countDifference(
  clickhouse: ClickHouse,
  project: ProjectRef,
  any_of: readonly string[],
  none_of: readonly string[],
): Promise<number> {
  const [row] = await clickhouse.query<{ size: string }>(
    `select count() as size from (
      select player_id from segment_members final
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and segment_id in ({all:Array(UUID)})
      group by player_id
      having max(segment_id in ({none_of:Array(UUID)})) = 0
    )`,
    { ...project, all: [...any_of, ...none_of], none_of },
  );
  return Number(row?.size ?? 0);
}

/** Changes one in a hundred players so that they leave segments that require a KYC level of at least 0. */
export async function changeOnePercent(clickhouse: ClickHouse, project: ProjectRef): Promise<void> {
  await clickhouse.command(
    `insert into players select * replace (-1 as kyc_level, revision + 1 as revision) from players final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and sipHash64(player_id) % 100 = 0`,
    { ...project },
  );
}

/** The end of Postgres' write-ahead log, in bytes. */
export async function walPosition(sql: Db): Promise<bigint> {
  const [row] = await sql<{ position: string }[]>`
    select (pg_current_wal_lsn() - '0/0'::pg_lsn)::text as position`;
  return BigInt(row?.position ?? 0);
}

/** The id of any player of the project. */
export async function somePlayer(sql: Db, project: ProjectRef): Promise<string> {
  const [row] = await sql<{ player_id: string }[]>`
    select player_id from players where tenant_id = ${project.tenant_id} and project_id = ${project.project_id} limit 1`;
  return row?.player_id ?? '';
}

/** Those of the anonymous ids whose players are in the segment. */
export async function selectMembersNamed(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  segment_id: string,
  anonymous_ids: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ anonymous_id: string }[]>`
    select n.anonymous_id from unnest(${plainArray(anonymous_ids)}::text::text[]) as n (anonymous_id)
    cross join lateral (
      select i.player_id from player_identities i
      where i.tenant_id = ${tenant_id} and i.project_id = ${project_id} and i.anonymous_id = n.anonymous_id offset 0) i
    cross join lateral (
      select from segment_members m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = i.player_id
        and m.segment_id = ${segment_id} offset 0) m`;
  return rows.map(({ anonymous_id }) => anonymous_id);
}
