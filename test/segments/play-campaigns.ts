import {
  aggregate,
  and,
  count,
  DAY,
  did,
  HOUR,
  last,
  lastHours,
  not,
  or,
  trait,
  where,
  type Example,
} from './example-shapes.ts';

const bet = (ago: number, game_category = 'slots', rest = {}) =>
  did('bet_placed', ago, { amount: 200, game_category, ...rest });
const sportBet = (ago: number, sport = 'football') => did('sport_bet_placed', ago, { amount: 500, sport });
const won = (ago: number, payout: number) => did('bet_won', ago, { payout });

const VIP_SEGMENT = '01980000-0000-7000-8000-0000000000bb';
/** Players whose draw with the salt "may-reload" is 19.9985, 19.9994 and 20.0002 of 100. */
const DRAWN = ['5f0c2f2e-6f0b-4f43-9f0e-000000035169', '5f0c2f2e-6f0b-4f43-9f0e-000000010827'] as const;
const NOT_DRAWN = '5f0c2f2e-6f0b-4f43-9f0e-000000006559';

/** Segments of typical campaigns about play: favourite games, players likely to leave, players to leave alone. */
export const PLAY_CAMPAIGNS: readonly Example[] = [
  {
    title: 'Sports only: bets on sport in the last 30 days, never in the casino',
    definition: and(count('sport_bet_placed', 'gte', 1, { window: last(30) }), count('bet_placed', 'eq', 0)),
    in: { sports: { events: [sportBet(DAY)] } },
    out: {
      both: { events: [sportBet(DAY), bet(90 * DAY)] },
      'sport long ago': { events: [sportBet(30 * DAY)] },
      neither: {},
    },
  },
  {
    title: 'Casino players who have not tried sport',
    definition: and(trait('bet_count', 'gte', 20), count('sport_bet_placed', 'eq', 0)),
    in: { casino: { traits: { bet_count: 20 }, events: [bet(DAY)] } },
    out: { both: { traits: { bet_count: 20 }, events: [sportBet(DAY)] }, few: { traits: { bet_count: 19 } } },
  },
  {
    title: 'A recent big win: a payout of 1,000 or more in the last 48 hours',
    definition: and(
      or(
        aggregate(['max', 'bet_won', 'payout'], 'gte', 100_000, { window: lastHours(48) }),
        count('bet_settled', 'gte', 1, { window: lastHours(48), where: [where('payout', 'gte', 100_000)] }),
      ),
    ),
    in: {
      won: { events: [won(HOUR, 100_000)] },
      settled: { events: [did('bet_settled', HOUR, { amount: 100, payout: 150_000 })] },
    },
    out: {
      'two small ones': { events: [won(HOUR, 60_000), won(HOUR, 60_000)] },
      'three days ago': { events: [won(3 * DAY, 100_000)] },
    },
  },
  {
    title: 'A big win, and then no bet for a day',
    definition: and(
      count('bet_won', 'gte', 1, { window: last(7), where: [where('payout', 'gt', 50_000)] }),
      aggregate(['last_seen', 'bet_placed'], 'not_within_last', { hours: 24 }),
    ),
    in: { stopped: { events: [won(2 * DAY, 60_000), bet(2 * DAY)] } },
    out: {
      'plays on': { events: [won(2 * DAY, 60_000), bet(HOUR)] },
      'small win': { events: [won(2 * DAY, 50_000)] },
    },
  },
  {
    title: 'Churn risk: a score of 0.7 or more, seen in the last 14 days, with a high predicted value',
    definition: and(
      trait('churn_score', 'gte', 0.7),
      trait('last_seen_at', 'within_last', { days: 14 }),
      trait('ltv_predicted', 'gt', 500),
    ),
    in: { 'at risk': { traits: { churn_score: 0.7, last_seen_at: DAY, ltv_predicted: 500.5 } } },
    out: {
      'gone already': { traits: { churn_score: 0.9, last_seen_at: 14 * DAY, ltv_predicted: 900 } },
      'value not predicted': { traits: { churn_score: 0.9, last_seen_at: DAY } },
    },
  },
  {
    title: 'Slowing down: 10 bets or more in April, none in May',
    definition: and(
      count('bet_placed', 'gte', 10, {
        window: { from: '2026-04-01T00:00:00Z', to: '2026-05-01T00:00:00Z' },
      }),
      count('bet_placed', 'eq', 0, { window: { from: '2026-05-01T00:00:00Z', to: '2026-06-01T00:00:00Z' } }),
    ),
    in: { slowing: { events: Array.from({ length: 10 }, (_, i) => bet((20 + i) * DAY)) } },
    out: {
      'still plays': { events: Array.from({ length: 10 }, (_, i) => bet((14 + i) * DAY)) },
      nine: { events: Array.from({ length: 9 }, (_, i) => bet((20 + i) * DAY)) },
    },
  },
  {
    title: 'Reached a deposit, loss or session limit in the last 7 days (no offers)',
    definition: or(
      count('deposit_limit_reached', 'gte', 1, { window: last(7) }),
      count('loss_limit_reached', 'gte', 1, { window: last(7) }),
      count('session_limit_exceeded', 'gte', 1, { window: last(7) }),
    ),
    in: {
      loss: { events: [did('loss_limit_reached', 6 * DAY)] },
      session: { events: [did('session_limit_exceeded', 0)] },
    },
    out: {
      'a week ago': { events: [did('loss_limit_reached', 7 * DAY)] },
      'a warning': { events: [did('session_limit_warning', DAY)] },
    },
  },
  {
    title: 'Self-excluded or cooling down, and everyone who lifted an exclusion this month',
    definition: or(
      trait('status', 'eq', 'self_excluded'),
      count('cooldown_entered', 'gte', 1, { window: lastHours(24) }),
      count('self_exclusion_lifted', 'gte', 1, { window: last(30) }),
    ),
    in: {
      excluded: { traits: { status: 'self_excluded' } },
      cooling: { events: [did('cooldown_entered', HOUR)] },
      lifted: { events: [did('self_exclusion_lifted', 29 * DAY)] },
    },
    out: { active: {}, 'cooled down': { events: [did('cooldown_entered', DAY)] } },
  },
  {
    title: 'Lost more than 1,000 in total and made five deposits within a day',
    definition: and(
      trait('ggr', 'gt', 100_000),
      count('deposit_confirmed', 'gte', 5, { window: lastHours(24) }),
    ),
    in: {
      worrying: {
        traits: { ggr: 100_001 },
        events: [1, 2, 3, 4, 5].map((h) => did('deposit_confirmed', h * HOUR, { amount: 1 })),
      },
    },
    out: {
      'ahead of the house': {
        traits: { ggr: -5 },
        events: [1, 2, 3, 4, 5].map((h) => did('deposit_confirmed', h * HOUR, { amount: 1 })),
      },
      'four only': {
        traits: { ggr: 100_001 },
        events: [1, 2, 3, 4].map((h) => did('deposit_confirmed', h * HOUR, { amount: 1 })),
      },
    },
  },
  {
    title: 'VIPs of any tier who were not seen for a week, without those who have a host',
    definition: and(
      trait('current_tier_code', 'in', ['silver', 'gold', 'platinum']),
      trait('last_seen_at', 'not_within_last', { days: 7 }),
      { type: 'segment', segment_id: VIP_SEGMENT, op: 'not_in' },
    ),
    in: { gold: { traits: { current_tier_code: 'gold', last_seen_at: 7 * DAY } } },
    out: {
      'looked after': {
        traits: { current_tier_code: 'gold', last_seen_at: 7 * DAY },
        segments: [VIP_SEGMENT],
      },
      'here today': { traits: { current_tier_code: 'gold', last_seen_at: HOUR } },
      bronze: { traits: { current_tier_code: 'bronze', last_seen_at: 7 * DAY } },
    },
  },
  {
    title: 'Promoted to gold in the last 3 days: congratulate',
    definition: and(
      trait('current_tier_code', 'eq', 'gold'),
      trait('tier_promoted_at', 'within_last', { days: 3 }),
    ),
    in: { new: { traits: { current_tier_code: 'gold', tier_promoted_at: DAY } } },
    out: {
      'long gold': { traits: { current_tier_code: 'gold', tier_promoted_at: 3 * DAY } },
      silver: { traits: { current_tier_code: 'silver', tier_promoted_at: DAY } },
    },
  },
  {
    title: 'Played at least 4 different slots this month, never the new one',
    definition: and(
      aggregate(['distinct', 'bet_placed', 'game_id'], 'gte', 4, {
        window: last(30),
        where: [where('game_category', 'eq', 'slots')],
      }),
      count('bet_placed', 'eq', 0, { where: [where('game_id', 'eq', 'moon-diver')] }),
    ),
    in: { curious: { events: ['a', 'b', 'c', 'd'].map((game_id) => bet(DAY, 'slots', { game_id })) } },
    out: {
      'knows it': {
        events: ['a', 'b', 'c', 'd', 'moon-diver'].map((game_id) => bet(DAY, 'slots', { game_id })),
      },
      'a table among them': {
        events: [
          ...['a', 'b', 'c'].map((game_id) => bet(DAY, 'slots', { game_id })),
          bet(DAY, 'table', { game_id: 'd' }),
        ],
      },
    },
  },
  {
    title: 'Opened an email offer in the last 30 days, clicked none, and has an email address',
    definition: and(
      trait('email', 'exists'),
      count('email_opened', 'gte', 1, { window: last(30) }),
      count('email_clicked', 'eq', 0, { window: last(30) }),
      not(count('email_bounced', 'gte', 1)),
    ),
    in: { opened: { traits: { email: 'a@b.se' }, events: [did('email_opened', DAY)] } },
    out: {
      clicked: {
        traits: { email: 'a@b.se' },
        events: [did('email_opened', DAY), did('email_clicked', HOUR)],
      },
      bounced: {
        traits: { email: 'a@b.se' },
        events: [did('email_opened', DAY), did('email_bounced', 90 * DAY)],
      },
      'no address': { events: [did('email_opened', DAY)] },
    },
  },
  {
    title: 'Claimed a bonus in the last 14 days and let it expire without wagering',
    definition: and(
      {
        type: 'sequence',
        steps: [{ event: 'bonus_claimed' }, { event: 'bonus_expired', within: { days: 10 } }],
        window: last(14),
      },
      count('bonus_wagered', 'eq', 0, { window: last(14) }),
    ),
    in: { 'let it expire': { events: [did('bonus_claimed', 12 * DAY), did('bonus_expired', 5 * DAY)] } },
    out: {
      wagered: {
        events: [
          did('bonus_claimed', 12 * DAY),
          did('bonus_wagered', 9 * DAY),
          did('bonus_expired', 5 * DAY),
        ],
      },
      'still runs': { events: [did('bonus_claimed', 12 * DAY)] },
      'an old one expired': { events: [did('bonus_expired', 12 * DAY), did('bonus_claimed', 5 * DAY)] },
    },
  },
  {
    title: 'A fifth of the active slots players of this week, for the test of the new reload offer',
    definition: and(
      { type: 'random', percent: 20, salt: 'may-reload' },
      count('bet_placed', 'gte', 1, { window: last(7), where: [where('game_category', 'eq', 'slots')] }),
      trait('status', 'eq', 'active'),
    ),
    in: { drawn: { player_id: DRAWN[0], events: [bet(DAY)] } },
    out: {
      'not drawn': { player_id: NOT_DRAWN, events: [bet(DAY)] },
      'drawn, plays tables': { player_id: DRAWN[1], events: [bet(DAY, 'table')] },
    },
  },
];
