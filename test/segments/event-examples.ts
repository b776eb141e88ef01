import {
  aggregate,
  and,
  count,
  DAY,
  did,
  HOUR,
  last,
  lastHours,
  where,
  type Example,
} from './example-shapes.ts';

const OTHER_SEGMENT = '01980000-0000-7000-8000-0000000000aa';
/** Players whose draw with the salt "spring" is 9.9825 and 10.0021 of 100. */
const DRAWN_LOW = '5f0c2f2e-6f0b-4f43-9f0e-000000000140';
const DRAWN_HIGH = '5f0c2f2e-6f0b-4f43-9f0e-000000001862';

const deposit = (ago: number, amount: number, rest = {}) =>
  did('deposit_confirmed', ago, { amount, ...rest });
const bet = (ago: number, properties = {}) => did('bet_placed', ago, { amount: 100, ...properties });

/** Conditions on the events of a player. */
export const EVENT_EXAMPLES: readonly Example[] = [
  {
    title: 'count: at least so many in the last days',
    definition: and(count('bet_placed', 'gte', 2, { window: last(7) })),
    in: { two: { events: [bet(0), bet(7 * DAY - 1)] } },
    out: {
      'one just passed': { events: [bet(0), bet(7 * DAY)] },
      'one ahead of now': { events: [bet(0), bet(-1)] },
      none: {},
    },
  },
  {
    title: 'count: never',
    definition: and(count('deposit_confirmed', 'eq', 0)),
    in: { never: {}, 'something else': { events: [bet(DAY)] } },
    out: { 'long ago': { events: [deposit(90 * DAY, 1)] }, 'ahead of now': { events: [deposit(-HOUR, 1)] } },
  },
  {
    title: 'count: at all, lately',
    definition: and(count('bet_placed', 'gt', 0, { window: lastHours(24) })),
    in: { several: { events: [bet(0), bet(HOUR), bet(2 * HOUR)] } },
    out: { 'one just passed': { events: [bet(DAY)] }, 'one ahead of now': { events: [bet(-1)] }, none: {} },
  },
  {
    title: 'count: not at all lately, with a property',
    definition: and(
      count('bet_placed', 'lt', 1, { window: lastHours(24), where: [where('game_category', 'eq', 'slots')] }),
    ),
    in: { 'another kind': { events: [bet(HOUR, { game_category: 'live' })] }, none: {} },
    out: { several: { events: [bet(0), bet(HOUR, { game_category: 'slots' })] } },
  },
  {
    title: 'count: from a moment until before another',
    definition: and(
      count('login', 'between', [1, 2], {
        window: { from: '2026-05-01T00:00:00Z', to: '2026-05-08T00:00:00Z' },
      }),
    ),
    in: { 'at the beginning': { events: [did('login', 14.5 * DAY)] } },
    out: {
      'at the end': { events: [did('login', 7.5 * DAY)] },
      before: { events: [did('login', 14.5 * DAY + 1)] },
    },
  },
  {
    title: 'count: only events with a property',
    definition: and(
      count('bet_placed', 'gte', 1, { where: [where('game_category', 'in', ['slots', 'live'])] }),
    ),
    in: { slots: { events: [bet(DAY, { game_category: 'slots' })] } },
    out: { table: { events: [bet(DAY, { game_category: 'table' })] }, 'not said': { events: [bet(DAY)] } },
  },
  {
    title: 'count: only events over an amount, in the base currency',
    definition: and(
      count('deposit_confirmed', 'gte', 1, {
        where: [where('amount', 'gt', 10_000), where('payment_method', 'neq', 'card')],
      }),
    ),
    in: {
      bank: { events: [deposit(DAY, 10_001, { payment_method: 'bank' })] },
      'no method': { events: [deposit(DAY, 10_001)] },
    },
    out: {
      'only what was sent is over it': { events: [deposit(DAY, 10_000)] },
      'two that fit half each': {
        events: [deposit(DAY, 10_001, { payment_method: 'card' }), deposit(DAY, 1)],
      },
    },
  },
  {
    title: 'sum of money; of nothing it is 0',
    definition: and(aggregate(['sum', 'deposit_confirmed', 'amount'], 'lte', 50_000, { window: last(30) })),
    in: {
      nothing: {},
      'just that': { events: [deposit(DAY, 20_000), deposit(2 * DAY, 30_000), deposit(31 * DAY, 1)] },
    },
    out: { 'a cent more': { events: [deposit(DAY, 50_001)] } },
  },
  {
    title: 'sum of another property: exact, and of numbers only',
    definition: and(aggregate(['sum', 'custom_spin', 'points'], 'eq', 0.3)),
    in: {
      'a tenth and two': {
        events: [
          did('custom_spin', DAY, { points: 0.1 }),
          did('custom_spin', DAY, { points: 0.2 }),
          did('custom_spin', HOUR, { points: '5' }),
        ],
      },
    },
    out: { nothing: {}, more: { events: [did('custom_spin', DAY, { points: 0.31 })] } },
  },
  {
    title: 'mean of money; of nothing it is missing',
    definition: and(aggregate(['avg', 'bet_placed', 'amount'], 'lt', 250)),
    in: { low: { events: [bet(DAY, { amount: 200 }), bet(HOUR, { amount: 299 })] } },
    out: { nothing: {}, 'just that': { events: [bet(DAY, { amount: 200 }), bet(HOUR, { amount: 300 })] } },
  },
  {
    title: 'mean of another property',
    definition: and(aggregate(['avg', 'custom_spin', 'points'], 'gte', 2.5)),
    in: {
      'two and three': {
        events: [
          did('custom_spin', 1, { points: 2 }),
          did('custom_spin', 2, { points: 3 }),
          did('custom_spin', 3),
        ],
      },
    },
    out: { less: { events: [did('custom_spin', 1, { points: 2 })] }, nothing: {} },
  },
  {
    title: 'least and greatest, of money and of another property',
    definition: and(
      aggregate(['min', 'deposit_confirmed', 'amount'], 'gte', 1_000),
      aggregate(['max', 'custom_spin', 'points'], 'lt', 10),
    ),
    in: { both: { events: [deposit(DAY, 1_000), did('custom_spin', DAY, { points: 9.5 })] } },
    out: {
      'a small one': {
        events: [deposit(DAY, 1_000), deposit(DAY, 999), did('custom_spin', DAY, { points: 9.5 })],
      },
      'a great one': {
        events: [
          deposit(DAY, 1_000),
          did('custom_spin', DAY, { points: 9.5 }),
          did('custom_spin', 1, { points: 10 }),
        ],
      },
      nothing: {},
    },
  },
  {
    title: 'how many different values',
    definition: and(aggregate(['distinct', 'bet_placed', 'game_id'], 'gte', 2, { window: lastHours(48) })),
    in: { 'two games': { events: [bet(HOUR, { game_id: 'a' }), bet(HOUR, { game_id: 'b' })] } },
    out: {
      'one game twice': { events: [bet(HOUR, { game_id: 'a' }), bet(DAY, { game_id: 'a' }), bet(DAY)] },
    },
  },
  {
    title: 'the first event: when',
    definition: and(aggregate(['first_seen', 'deposit_confirmed'], 'after', '2026-05-08T12:00:00Z')),
    in: { 'this week': { events: [deposit(DAY, 1)] } },
    out: { 'long ago too': { events: [deposit(DAY, 1), deposit(90 * DAY, 1)] }, never: {} },
  },
  {
    title: 'the last event: when; also who never did it',
    definition: and(aggregate(['last_seen', 'login'], 'not_within_last', { days: 14 })),
    in: { never: {}, 'long ago': { events: [did('login', 14 * DAY)] } },
    out: { lately: { events: [did('login', 20 * DAY), did('login', 13 * DAY)] } },
  },
  {
    title: 'the first event inside a window',
    definition: and(aggregate(['first_seen', 'login'], 'exists', undefined, { window: last(1) })),
    in: { 'today too': { events: [did('login', 90 * DAY), did('login', HOUR)] } },
    out: { 'not today': { events: [did('login', 90 * DAY)] } },
  },
  {
    title: 'several windows of one event, read in one go',
    definition: and(
      count('bet_placed', 'gte', 1, { window: last(7) }),
      count('bet_placed', 'eq', 0, { window: { from: '2026-04-01T00:00:00Z', to: '2026-05-01T00:00:00Z' } }),
      aggregate(['sum', 'deposit_confirmed', 'amount'], 'gt', 0),
    ),
    in: { back: { events: [bet(DAY), bet(60 * DAY), deposit(60 * DAY, 100)] } },
    out: {
      'was here in April': { events: [bet(DAY), bet(20 * DAY), deposit(60 * DAY, 100)] },
      'never deposited': { events: [bet(DAY)] },
    },
  },
  {
    title: 'sequence: one thing later than another, inside a window',
    definition: and({
      type: 'sequence',
      steps: [{ event: 'deposit_confirmed' }, { event: 'bet_placed' }],
      window: last(7),
    }),
    in: { 'in this order': { events: [deposit(2 * DAY, 100), bet(DAY)] } },
    out: {
      'at the same time': { events: [deposit(DAY, 100), bet(DAY)] },
      'the other way round': { events: [bet(2 * DAY), deposit(DAY, 100)] },
      'begun before the window': { events: [deposit(8 * DAY, 100), bet(DAY)] },
    },
  },
  {
    title: 'sequence: each step soon after the one before',
    definition: and({
      type: 'sequence',
      steps: [
        { event: 'deposit_failed' },
        { event: 'deposit_initiated', within: { hours: 1 } },
        { event: 'deposit_confirmed', within: { hours: 2 }, where: [where('amount', 'gte', 1_000)] },
      ],
    }),
    in: {
      'just in time': {
        events: [
          did('deposit_failed', 5 * HOUR),
          did('deposit_initiated', 4 * HOUR),
          deposit(2 * HOUR, 1_000),
        ],
      },
      'the second try': {
        events: [
          did('deposit_failed', 9 * HOUR),
          did('deposit_failed', 5 * HOUR),
          did('deposit_initiated', 4 * HOUR),
          deposit(3 * HOUR, 1_000),
        ],
      },
    },
    out: {
      'too late': {
        events: [
          did('deposit_failed', 5 * HOUR),
          did('deposit_initiated', 4 * HOUR),
          deposit(2 * HOUR - 1, 1_000),
        ],
      },
      'too little': {
        events: [did('deposit_failed', 5 * HOUR), did('deposit_initiated', 4 * HOUR), deposit(3 * HOUR, 999)],
      },
    },
  },
  {
    title: 'in another segment',
    definition: and({ type: 'segment', segment_id: OTHER_SEGMENT, op: 'in' }),
    in: { member: { segments: [OTHER_SEGMENT] } },
    out: { stranger: {} },
  },
  {
    title: 'not in another segment',
    definition: and({ type: 'segment', segment_id: OTHER_SEGMENT, op: 'not_in' }),
    in: { stranger: {} },
    out: { member: { segments: [OTHER_SEGMENT] } },
  },
  {
    title: 'on a list, which stays as it was written',
    definition: and({ type: 'list', list_id: OTHER_SEGMENT }),
    in: { member: { segments: [OTHER_SEGMENT] } },
    out: { stranger: {} },
  },
  {
    title: 'random: a stable share of all players',
    definition: and({ type: 'random', percent: 10, salt: 'spring' }),
    in: { 'drawn low': { player_id: DRAWN_LOW } },
    out: { 'drawn high': { player_id: DRAWN_HIGH } },
  },
];
