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

const deposit = (ago: number, amount: number, rest = {}) =>
  did('deposit_confirmed', ago, { amount, payment_method: 'card', ...rest });
const slots = (ago: number) =>
  did('bet_placed', ago, { amount: 200, game_category: 'slots', game_id: 'starburst' });
const loginAt = (ago: number) => did('login', ago);

const WELCOME = [where('bonus_code', 'eq', 'welcome')];

/** Segments of typical campaigns about money: players who deposited, withdrew, or did neither. */
export const DEPOSIT_CAMPAIGNS: readonly Example[] = [
  {
    title:
      'Deposited over 500 in the last 30 days, at least 3 bets on slots this week, not VIP gold, never claimed the welcome bonus',
    definition: and(
      aggregate(['sum', 'deposit_confirmed', 'amount'], 'gt', 50_000, { window: last(30) }),
      count('bet_placed', 'gte', 3, { window: last(7), where: [where('game_category', 'eq', 'slots')] }),
      trait('current_tier_code', 'neq', 'gold'),
      count('bonus_claimed', 'eq', 0, { where: WELCOME }),
    ),
    in: {
      'no tier': { events: [deposit(2 * DAY, 30_000), deposit(DAY, 20_001), slots(1), slots(2), slots(DAY)] },
      'silver, took another bonus': {
        traits: { current_tier_code: 'silver' },
        events: [
          deposit(DAY, 60_000),
          slots(1),
          slots(2),
          slots(3),
          did('bonus_claimed', DAY, { bonus_code: 'reload' }),
        ],
      },
    },
    out: {
      gold: {
        traits: { current_tier_code: 'gold' },
        events: [deposit(DAY, 60_000), slots(1), slots(2), slots(3)],
      },
      'just 500': { events: [deposit(DAY, 50_000), slots(1), slots(2), slots(3)] },
      'deposited last month': { events: [deposit(30 * DAY, 60_000), slots(1), slots(2), slots(3)] },
      'two bets this week': { events: [deposit(DAY, 60_000), slots(1), slots(2), slots(7 * DAY)] },
      'took the bonus long ago': {
        events: [
          deposit(DAY, 60_000),
          slots(1),
          slots(2),
          slots(3),
          did('bonus_claimed', 80 * DAY, { bonus_code: 'welcome' }),
        ],
      },
    },
  },
  {
    title: 'Registered in the last 3 days and has not deposited yet',
    definition: and(trait('created_at', 'within_last', { days: 3 }), count('deposit_confirmed', 'eq', 0)),
    in: {
      new: { traits: { created_at: DAY } },
      'tried only': { traits: { created_at: DAY }, events: [did('deposit_failed', HOUR)] },
    },
    out: {
      deposited: { traits: { created_at: DAY }, events: [deposit(HOUR, 1_000)] },
      'registered earlier': { traits: { created_at: 3 * DAY } },
    },
  },
  {
    title: 'Made the first deposit this week, and no second one',
    definition: and(
      aggregate(['first_seen', 'deposit_confirmed'], 'within_last', { days: 7 }),
      count('deposit_confirmed', 'eq', 1),
    ),
    in: { one: { events: [deposit(6 * DAY, 2_000)] } },
    out: {
      two: { events: [deposit(6 * DAY, 2_000), deposit(DAY, 2_000)] },
      'the first was earlier': { events: [deposit(8 * DAY, 2_000)] },
      none: {},
    },
  },
  {
    title: 'Lapsed depositors: at least 3 deposits ever, none in the last 30 days',
    definition: and(
      count('deposit_confirmed', 'gte', 3),
      aggregate(['last_seen', 'deposit_confirmed'], 'not_within_last', { days: 30 }),
    ),
    in: { lapsed: { events: [deposit(90 * DAY, 100), deposit(60 * DAY, 100), deposit(30 * DAY, 100)] } },
    out: {
      'still there': { events: [deposit(90 * DAY, 100), deposit(60 * DAY, 100), deposit(29 * DAY, 100)] },
      'two only': { events: [deposit(90 * DAY, 100), deposit(60 * DAY, 100)] },
      never: {},
    },
  },
  {
    title: 'High rollers: a deposit of 5,000 or more, or 20,000 wagered, and active',
    definition: and(
      or(
        aggregate(['max', 'deposit_confirmed', 'amount'], 'gte', 500_000),
        trait('total_wagered', 'gte', 2_000_000),
      ),
      trait('status', 'eq', 'active'),
    ),
    in: {
      'one deposit': { events: [deposit(DAY, 500_000)] },
      'many bets': { traits: { total_wagered: 2_000_000 } },
    },
    out: {
      'two halves': { events: [deposit(DAY, 250_000), deposit(HOUR, 250_000)] },
      excluded: { traits: { total_wagered: 2_000_000, status: 'self_excluded' } },
    },
  },
  {
    title: 'Bonus hunters: 3 bonuses in 30 days and very small deposits',
    definition: and(
      count('bonus_claimed', 'gte', 3, { window: last(30) }),
      aggregate(['sum', 'deposit_confirmed', 'amount'], 'lt', 5_000, { window: last(30) }),
    ),
    in: {
      'no deposit': {
        events: [did('bonus_claimed', 1), did('bonus_claimed', DAY), did('bonus_claimed', 9 * DAY)],
      },
      'a small one': {
        events: [
          did('bonus_claimed', 1),
          did('bonus_claimed', DAY),
          did('bonus_claimed', 2),
          deposit(DAY, 4_999),
        ],
      },
    },
    out: {
      'pays too': {
        events: [
          did('bonus_claimed', 1),
          did('bonus_claimed', DAY),
          did('bonus_claimed', 2),
          deposit(DAY, 5_000),
        ],
      },
      'two bonuses': {
        events: [did('bonus_claimed', 1), did('bonus_claimed', DAY), did('bonus_claimed', 31 * DAY)],
      },
    },
  },
  {
    title: 'A deposit failed in the last 2 days, and no failure was followed by a success within 24 hours',
    definition: and(
      count('deposit_failed', 'gte', 1, { window: last(2) }),
      not({
        type: 'sequence',
        steps: [{ event: 'deposit_failed' }, { event: 'deposit_confirmed', within: { hours: 24 } }],
        window: last(2),
      }),
    ),
    in: {
      'only failed': { events: [did('deposit_failed', HOUR)] },
      'succeeded before': { events: [deposit(2 * HOUR, 1_000), did('deposit_failed', HOUR)] },
      'succeeded too late': { events: [did('deposit_failed', 40 * HOUR), deposit(HOUR, 1_000)] },
    },
    out: {
      'succeeded soon': { events: [did('deposit_failed', 5 * HOUR), deposit(4 * HOUR, 1_000)] },
      'failed long ago': { events: [did('deposit_failed', 3 * DAY)] },
      'nothing failed': {},
    },
  },
  {
    title: 'KYC pending with deposits over 2,000',
    definition: and(trait('kyc_status', 'eq', 'pending'), trait('total_deposited', 'gt', 200_000)),
    in: { pending: { traits: { kyc_status: 'pending', total_deposited: 200_001 } } },
    out: {
      approved: { traits: { kyc_status: 'approved', total_deposited: 900_000 } },
      'just 2,000': { traits: { kyc_status: 'pending', total_deposited: 200_000 } },
    },
  },
  {
    title: 'Withdrew more than they deposited this month',
    definition: and(
      aggregate(['sum', 'withdrawal_confirmed', 'amount'], 'gte', 100_000, { window: last(30) }),
      aggregate(['sum', 'deposit_confirmed', 'amount'], 'lt', 100_000, { window: last(30) }),
    ),
    in: {
      cashed: { events: [did('withdrawal_confirmed', DAY, { amount: 100_000 }), deposit(9 * DAY, 99_999)] },
    },
    out: {
      'put it back': {
        events: [did('withdrawal_confirmed', DAY, { amount: 100_000 }), deposit(9 * DAY, 100_000)],
      },
      'only asked for it': { events: [did('withdrawal_requested', DAY, { amount: 100_000 })] },
    },
  },
  {
    title: 'Asked for a withdrawal yesterday or today and then bet again (reverse withdrawal risk)',
    definition: and({
      type: 'sequence',
      steps: [{ event: 'withdrawal_requested' }, { event: 'bet_placed', within: { hours: 12 } }],
      window: last(2),
    }),
    in: { 'bet again': { events: [did('withdrawal_requested', DAY, { amount: 5_000 }), slots(20 * HOUR)] } },
    out: {
      'bet before': { events: [slots(26 * HOUR), did('withdrawal_requested', DAY, { amount: 5_000 })] },
      'much later': { events: [did('withdrawal_requested', DAY, { amount: 5_000 }), slots(HOUR)] },
    },
  },
  {
    title: 'Crypto depositors who have not tried the live casino',
    definition: and(
      count('deposit_confirmed', 'gte', 1, {
        where: [where('payment_method', 'in', ['btc', 'usdt', 'eth'])],
      }),
      count('bet_placed', 'eq', 0, { where: [where('game_category', 'eq', 'live')] }),
    ),
    in: { slots: { events: [deposit(DAY, 1_000, { payment_method: 'usdt' }), slots(1)] } },
    out: {
      card: { events: [deposit(DAY, 1_000), slots(1)] },
      live: {
        events: [
          deposit(DAY, 1_000, { payment_method: 'btc' }),
          did('bet_placed', 1, { game_category: 'live' }),
        ],
      },
    },
  },
  {
    title:
      'Average deposit between 20 and 50, at least 5 deposits in 90 days (candidates for a reload offer)',
    definition: and(
      count('deposit_confirmed', 'gte', 5, { window: last(90) }),
      aggregate(['avg', 'deposit_confirmed', 'amount'], 'between', [2_000, 5_000], { window: last(90) }),
    ),
    in: { regular: { events: [1, 2, 3, 4, 5].map((day) => deposit(day * DAY, day * 1_000)) } },
    out: {
      'four only': { events: [1, 2, 3, 4].map((day) => deposit(day * DAY, 3_000)) },
      'a large one': { events: [1, 2, 3, 4, 5].map((day) => deposit(day * DAY, day === 5 ? 60_000 : 1_000)) },
    },
  },
  {
    title: 'Deposited during the Easter campaign, and not since',
    definition: and(
      count('deposit_confirmed', 'gte', 1, {
        window: { from: '2026-04-03T00:00:00+02:00', to: '2026-04-07T00:00:00+02:00' },
      }),
      aggregate(['last_seen', 'deposit_confirmed'], 'before', '2026-04-07T00:00:00+02:00'),
    ),
    in: { 'on Easter Sunday': { events: [deposit(40 * DAY, 1_000)] } },
    out: {
      'and since': { events: [deposit(40 * DAY, 1_000), deposit(DAY, 1)] },
      'before it': { events: [deposit(45 * DAY, 1_000)] },
    },
  },
  {
    title: 'Logged in three times today without a deposit',
    definition: and(
      count('login', 'gte', 3, { window: lastHours(24) }),
      count('deposit_initiated', '=', 0, { window: lastHours(24) }),
      count('deposit_confirmed', '=', 0, { window: lastHours(24) }),
    ),
    in: { looked: { events: [loginAt(1), loginAt(HOUR), loginAt(2 * HOUR), deposit(25 * HOUR, 1)] } },
    out: {
      deposited: { events: [loginAt(1), loginAt(HOUR), loginAt(2 * HOUR), deposit(HOUR, 1)] },
      'two today': { events: [loginAt(1), loginAt(HOUR), loginAt(24 * HOUR)] },
    },
  },
  {
    title: 'Deposits in Swedish kronor, no verified phone, so no SMS offers',
    definition: and(
      trait('default_currency_code', 'eq', 'SEK'),
      or(trait('phone', 'not_exists'), trait('custom_attributes.phone_verified', 'neq', true)),
      trait('total_deposited', '>', 0),
    ),
    in: {
      'no phone': { traits: { default_currency_code: 'SEK', total_deposited: 1 } },
      'not verified': {
        traits: { default_currency_code: 'SEK', total_deposited: 1, phone: '+4670' },
        attributes: { phone_verified: false },
      },
    },
    out: {
      verified: {
        traits: { default_currency_code: 'SEK', total_deposited: 1, phone: '+4670' },
        attributes: { phone_verified: true },
      },
      'in euro': { traits: { total_deposited: 1 } },
    },
  },
];
