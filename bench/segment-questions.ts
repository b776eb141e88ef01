/** A typical segment of a gambling operator, as a definition and as an expert would write it in SQL. */
export interface Question {
  title: string;
  definition: Record<string, unknown>;
  /** A statement that returns rows of `player_id`. */
  expert_sql: string;
}

const SCOPE = 'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}';
const SINCE = (days: number) =>
  `occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - ${days} * 86400000, 'UTC')`;
const UNTIL = "occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')";
const LIVE = `select player_id from players final where ${SCOPE} and deleted_at is null`;

const count = (event: string, op: string, value: number, days: number, rest = {}) => ({
  type: 'event',
  event,
  aggregate: 'count',
  op,
  value,
  window: { last: { days } },
  ...rest,
});

export const QUESTIONS: readonly Question[] = [
  {
    title: 'deposited over 300 in 30 days',
    definition: {
      operator: 'AND',
      conditions: [{ ...count('deposit_confirmed', 'gt', 30_000, 30), aggregate: 'sum', property: 'amount' }],
    },
    expert_sql: `select player_id from (
        select player_id, sum(base_amount) as total from events final
        where ${SCOPE} and event = 'deposit_confirmed' and ${SINCE(30)} and ${UNTIL}
        group by player_id having total > 30000)
      where player_id in (${LIVE})`,
  },
  {
    title: 'at least 3 bets on slots this week',
    definition: {
      operator: 'AND',
      conditions: [
        count('bet_placed', 'gte', 3, 7, {
          where: [{ property: 'game_category', op: 'eq', value: 'slots' }],
        }),
      ],
    },
    expert_sql: `select player_id from (
        select player_id, count() as bets from events final
        where ${SCOPE} and event = 'bet_placed' and ${SINCE(7)} and ${UNTIL}
          and JSONExtractString(properties, 'game_category') = 'slots'
        group by player_id having bets >= 3)
      where player_id in (${LIVE})`,
  },
  {
    title: 'deposited once, no bet for 14 days',
    definition: {
      operator: 'AND',
      conditions: [
        { ...count('deposit_confirmed', 'gte', 1, 1), window: null },
        count('bet_placed', 'eq', 0, 14),
      ],
    },
    expert_sql: `${LIVE}
      and player_id in (select player_id from events final where ${SCOPE} and event = 'deposit_confirmed')
      and player_id not in (
        select player_id from events final where ${SCOPE} and event = 'bet_placed' and ${SINCE(14)} and ${UNTIL})`,
  },
  {
    title: 'gold, logged in today',
    definition: {
      operator: 'AND',
      conditions: [
        { type: 'trait', field: 'current_tier_code', op: 'eq', value: 'gold' },
        count('login', 'gte', 1, 1),
      ],
    },
    expert_sql: `${LIVE} and current_tier_code = 'gold'
      and player_id in (select player_id from events final where ${SCOPE} and event = 'login' and ${SINCE(1)} and ${UNTIL})`,
  },
  {
    title: 'high total, never a welcome bonus',
    definition: {
      operator: 'AND',
      conditions: [
        { type: 'trait', field: 'total_deposited', op: 'gte', value: 50_000_000 },
        {
          ...count('bonus_claimed', 'eq', 0, 1, {
            where: [{ property: 'bonus', op: 'eq', value: 'welcome' }],
          }),
          window: null,
        },
      ],
    },
    expert_sql: `${LIVE} and total_deposited >= 50000000
      and player_id not in (
        select player_id from events final
        where ${SCOPE} and event = 'bonus_claimed' and JSONExtractString(properties, 'bonus') = 'welcome')`,
  },
];
