import type { ClickHouse } from '../src/platform/clickhouse/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

const DAYS = 90;
const STEP = 2_000_000;

/**
 * Inserts events over 90 days of players that `seedMirroredPlayers` made, some of whom play much more than others: 60 % bets and
 * their settlements of 500 games, 20 % logins, 15 % deposits, 5 % signups. Every bet has what it counts.
 */
export async function seedPlay(
  clickhouse: ClickHouse,
  project: ProjectRef,
  players: number,
  count: number,
): Promise<void> {
  for (let from = 0; from < count; from += STEP) {
    await clickhouse.command(
      `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
        base_amount, base_payout, stake_counted, payout_counted, item, item_group, properties, revision)
      select {tenant_id:UUID}, {project_id:UUID},
        multiIf(kind < 60, if(number % 2 = 0, 'bet_placed', 'bet_settled'), kind < 80, 'login', kind < 95,
          'deposit_confirmed', 'signup') as event,
        toUUID(lower(hex(MD5(toString(toUInt64(pow(intHash64(pair) % 1000000 / 1000000, 2) * {players:UInt64}) + 1))))),
        now64(3) - toIntervalMillisecond(intHash64(pair * 7 + 1) % (${DAYS} * 86400000) + if(number % 2 = 0, 5000, 0)) as at, at,
        reinterpret(MD5(concat('play', toString(number))), 'UUID'), 0,
        if(event in ('bet_placed', 'bet_settled', 'deposit_confirmed'), toInt64(intHash64(pair + 3) % 20000), null) as base_amount,
        if(event = 'bet_settled', toInt64(intHash64(pair + 13) % 2 * intHash64(pair + 3) % 38000), null) as base_payout,
        if(event in ('bet_placed', 'deposit_confirmed'), ifNull(base_amount, 0), 0), ifNull(base_payout, 0),
        if(kind < 60, concat('game-', toString(intHash64(pair + 5) % 500)), ''),
        if(kind < 60, ['slots', 'live', 'table', 'crash'][intHash64(pair + 5) % 4 + 1], ''),
        concat('{"amount":', toString(intHash64(pair + 3) % 20000), ',"currency":"EUR","payment_method":"m',
          toString(intHash64(number + 9) % 12), '"',
          if(kind < 60, concat(',"bet_id":"', hex(MD5(toString(pair))), '"'), ''), '}'),
        0
      from (select number, intDiv(number, 2) as pair, intHash64(pair + 11) % 100 as kind
        from numbers({from:UInt64}, {size:UInt64}))`,
      { ...project, players, from, size: Math.min(STEP, count - from) },
    );
  }
}

/** When the range of the questions of the bench begins. */
const since = (days: number) =>
  `occurred_at >= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') - toIntervalDay(${days})`;
const OWN = 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}';

/** What an expert would write without a compiler, for the same questions. */
export const EXPERT_SQL = {
  trend: `select toStartOfDay(occurred_at) as t, JSONExtractString(properties, 'payment_method') as g, count()
    from events final where ${OWN} and event = 'deposit_confirmed' and ${since(90)} group by t, g`,
  /** Without counted columns: a row for each bet first, as the overview once did. */
  ggr_by_bet: `select g, sum(stake), sum(payout) from (
      select JSONExtractString(properties, 'bet_id') as bet, any(item) as g,
        maxIf(base_amount, event = 'bet_placed') as stake, maxIf(base_payout, event = 'bet_settled') as payout
      from events final where ${OWN} and event in ('bet_placed', 'bet_settled') and ${since(30)} group by bet)
    group by g`,
  funnel: `select level, count() from (
      select player_id, windowFunnel(604800000, 'strict_increase')(toUInt64(toUnixTimestamp64Milli(occurred_at)),
        event = 'login', event = 'deposit_confirmed', event = 'bet_placed', event = 'bet_settled') as level
      from events final
      where ${OWN} and event in ('login', 'deposit_confirmed', 'bet_placed', 'bet_settled') and ${since(30)}
      group by player_id) where level > 0 group by level`,
  retention: `select cohort, dateDiff('week', cohort, day) as n, uniqExact(e.player_id) from (
      select player_id, toStartOfWeek(occurred_at, 1) as day from events final
      where ${OWN} and event = 'deposit_confirmed' and ${since(84)}) as e
    inner join (
      select player_id, toStartOfWeek(min(occurred_at), 1) as cohort from events final
      where ${OWN} and event = 'deposit_confirmed' group by player_id) as c on c.player_id = e.player_id
    group by cohort, n`,
  distribution: `select quantilesExact(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)(total), sum(total), count() from (
      select player_id, sum(base_amount) as total from events final
      where ${OWN} and event = 'deposit_confirmed' and ${since(30)} group by player_id)`,
} as const;

/** Runs a statement and throws its rows away. */
export async function runExpert(clickhouse: ClickHouse, project: ProjectRef, sql: string): Promise<void> {
  await clickhouse.query(sql, { ...project, now_ms: Date.now() });
}
