import * as fc from 'fast-check';
import type {
  Json,
  NaiveEvent,
  NaiveMessage,
  NaivePlayer,
  WrittenCondition,
  WrittenGroup,
  WrittenNode,
  WrittenWhere,
  WrittenWindow,
} from './naive.ts';

// Small vocabularies, so that conditions often match: few instants, few texts with special characters.

export const NOW_MS = Date.UTC(2026, 4, 15, 12);
const HOUR_MS = 3_600_000;
const EVENTS = ['deposit_confirmed', 'bet_placed', 'login', 'custom_spin'] as const;
const TEXTS = [
  '',
  'slots',
  'SLOTS',
  'a%b_c',
  "o'neill",
  'x\\y',
  '12',
  'true',
  'null',
  '[1]',
  'é',
  'slots live',
  '{p0:String}',
];
export const KEYS = ['game', 'points', 'vip', "k'ey", 'a.b', 'tags', 'since'];
const DATES = [
  '2026-05-15T12:00:00Z',
  '2026-05-08T12:00:00+00:00',
  '2026-05-14T11:30:00.500+02:00',
  '2026-05-01',
];
const SALTS = ['a', 'b'];

const text = fc.constantFrom(...TEXTS);
const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 0.1, 0.2, 0.3, 12, 2.5, 100),
  fc.integer({ min: -3, max: 30 }),
);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constantFrom(...DATES));
/** A value of a custom attribute or of an event's property. */
export const json = fc.oneof(
  scalar,
  fc.constant(null),
  fc.array(scalar, { maxLength: 3 }),
  fc.constant({ a: 1 }),
);
const object = fc.dictionary(fc.constantFrom(...KEYS), json, { maxKeys: 4 });
/** Instants on or next to the edges of the windows that definitions use. */
const time = fc
  .tuple(fc.constantFrom(0, 1, 2, 24, 48, 7 * 24, 30 * 24), fc.constantFrom(-1, 0, 1, 1_800_000))
  .map(([hours, off_ms]) => NOW_MS - hours * HOUR_MS + off_ms);
export const money = fc.option(fc.constantFrom(0, 100, 250, 500, 1_000), { nil: null });

/** Amounts as they are sent, most of them without a currency. */
const sent = fc.record(
  {
    amount: fc.constantFrom<Json>(0, 100, 250.5, -250, 500, '1000', '0500', '-5', 'x', null, true),
    payout: fc.constantFrom<Json>(500, '250'),
    bonus_stake: fc.constantFrom<Json>(100, '250', 'x', null),
    currency: fc.constantFrom<Json>('', 'KRW', null, 7),
  },
  { requiredKeys: [] },
);

const event: fc.Arbitrary<NaiveEvent> = fc.record({
  event: fc.constantFrom(...EVENTS),
  occurred_ms: time,
  base_amount: money,
  base_payout: money,
  base_bonus_stake: money,
  base_bonus_payout: money,
  properties: fc.tuple(object, sent).map(([others, amounts]) => ({ ...others, ...amounts })),
});

/** Campaigns of the messages. */
const CAMPAIGNS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];
const CHANNELS = ['email', 'sms', 'push'];
const maybeTime = fc.option(time, { nil: null });

/** Any combination of times, because callbacks arrive in any order, or never. */
const message: fc.Arbitrary<NaiveMessage> = fc.record({
  channel: fc.constantFrom(...CHANNELS),
  campaign_id: fc.option(fc.constantFrom(...CAMPAIGNS), { nil: null }),
  status: fc.constantFrom('sent', 'delivered', 'opened', 'clicked', 'bounced', 'failed', 'capped'),
  enqueued_ms: time,
  sent_ms: maybeTime,
  delivered_ms: maybeTime,
  opened_ms: maybeTime,
  clicked_ms: maybeTime,
  bounced_ms: maybeTime,
});

/** A player without memberships, which the tests draw for each segment. */
export const player: fc.Arbitrary<Omit<NaivePlayer, 'segment_ids'>> = fc.record({
  player_id: fc.uuid({ version: 4 }),
  traits: fc.record({
    external_id: fc.option(text, { nil: null }),
    email: fc.option(text, { nil: null }),
    phone: fc.option(text, { nil: null }),
    telegram_id: fc.option(text, { nil: null }),
    timezone: fc.option(fc.constantFrom('Europe/Malta', 'UTC'), { nil: null }),
    status: fc.constantFrom('active', 'self_excluded', 'banned'),
    default_currency_code: fc.constantFrom('EUR', 'SEK'),
    current_tier_code: fc.option(fc.constantFrom('gold', 'silver'), { nil: null }),
    tier_promoted_at: fc.option(time, { nil: null }),
    kyc_status: fc.constantFrom('none', 'approved'),
    kyc_level: fc.integer({ min: 0, max: 3 }),
    churn_score: fc.constantFrom(0, 0.25, 0.5, 1),
    ltv_predicted: fc.option(fc.constantFrom(0, 0.1, 12.5), { nil: null }),
    first_seen_at: time,
    last_seen_at: time,
    total_deposited: fc.constantFrom(0, 100, 500, 2 ** 53),
    total_withdrawn: fc.constantFrom(0, 100),
    total_wagered: fc.constantFrom(0, 100, 500),
    total_won: fc.constantFrom(0, 500),
    ggr: fc.constantFrom(-500, 0, 100),
    bet_count: fc.integer({ min: 0, max: 4 }),
    session_count: fc.integer({ min: 0, max: 4 }),
    created_at: time,
    deleted_at: fc.constant(null),
  }),
  custom_attributes: object,
  events: fc.array(event, { maxLength: 12 }),
  messages: fc.array(message, { maxLength: 4 }),
});

const span = fc.constantFrom({ hours: 1 }, { days: 1 }, { days: 7 }, { hours: 48 }, { days: 30 });
export const isoTime = time.map((ms) => new Date(ms).toISOString());
const window: fc.Arbitrary<WrittenWindow> = fc.oneof(
  fc.constant(null),
  span.map((last) => ({ last })),
  fc
    .tuple(time, time)
    .filter(([a, b]) => a !== b)
    .map(([a, b]) => ({
      from: new Date(Math.min(a, b)).toISOString(),
      to: new Date(Math.max(a, b)).toISOString(),
    })),
);

const equality = fc.constantFrom('eq', '=', 'neq', '!=');
const order = fc.constantFrom('gt', '>', 'gte', '>=', 'lt', '<', 'lte', '<=');
const existence = fc.constantFrom('exists', 'not_exists').map((op) => ({ op }));
const pair = <T>(values: fc.Arbitrary<T>, key: (value: T) => number) =>
  fc.tuple(values, values).map((both) => both.sort((a, b) => key(a) - key(b)));

const comparing = (values: fc.Arbitrary<unknown>) =>
  fc.oneof(
    fc.record({ op: equality, value: values }),
    fc.record({ op: fc.constantFrom('in', 'nin'), value: fc.array(values, { minLength: 1, maxLength: 4 }) }),
  );
const ofNumber = fc.oneof(
  comparing(number),
  fc.record({ op: order, value: number }),
  fc.record({ op: fc.constant('between'), value: pair(number, (n) => n) }),
  existence,
);
const moneyValue = fc.constantFrom(0, 100, 250, 350, 500, 600, 99.5);
/** A comparison of money, as callers write it. */
export const ofMoney = fc.oneof(
  comparing(moneyValue),
  fc.record({ op: order, value: moneyValue }),
  fc.record({ op: fc.constant('between'), value: pair(moneyValue, (n) => n) }),
  existence,
);
const ofText = (values: fc.Arbitrary<string>) =>
  fc.oneof(
    comparing(values),
    fc.record({ op: fc.constantFrom('contains', 'starts_with'), value: values }),
    existence,
  );
const ofDate = fc.oneof(
  fc.record({ op: fc.constantFrom('before', 'after'), value: isoTime }),
  fc.record({ op: fc.constantFrom('within_last', 'not_within_last'), value: span }),
  fc.record({ op: fc.constant('between'), value: pair(isoTime, Date.parse) }),
  existence,
);
/** A comparison of a JSON value, as callers write it. */
export const ofJson = fc.oneof(
  comparing(scalar),
  ofNumber,
  ofDate,
  ofText(text),
  fc.record({ op: fc.constant('contains'), value: scalar }),
);

const where: fc.Arbitrary<WrittenWhere> = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom(...KEYS), ofJson).map(([property, comparison]) => ({ property, ...comparison })),
    fc
      .tuple(fc.constantFrom('amount', 'payout'), ofMoney)
      .map(([property, comparison]) => ({ property, ...comparison })),
  ),
  { maxLength: 2 },
);
const eventName = fc.constantFrom(...EVENTS);
const property = fc.constantFrom('amount', 'payout', 'bonus_stake', 'points', 'game');

const traitCondition = fc.oneof(
  fc
    .tuple(fc.constantFrom('external_id', 'email', 'phone', 'telegram_id'), ofText(text))
    .map(([field, comparison]) => ({ field, ...comparison })),
  ofText(fc.constantFrom('Europe/Malta', 'UTC')).map((comparison) => ({ field: 'timezone', ...comparison })),
  fc
    .tuple(
      fc.constantFrom('current_tier_code', 'default_currency_code'),
      ofText(fc.constantFrom('gold', 'EUR', 'G')),
    )
    .map(([field, comparison]) => ({ field, ...comparison })),
  comparing(fc.constantFrom('active', 'banned')).map((comparison) => ({ field: 'status', ...comparison })),
  fc
    .tuple(
      fc.constantFrom('total_deposited', 'ggr', 'bet_count', 'kyc_level', 'churn_score', 'ltv_predicted'),
      fc.oneof(ofNumber, ofMoney),
    )
    .map(([field, comparison]) => ({ field, ...comparison })),
  fc
    .tuple(fc.constantFrom('first_seen_at', 'last_seen_at', 'created_at', 'tier_promoted_at'), ofDate)
    .map(([field, comparison]) => ({ field, ...comparison })),
  fc
    .tuple(fc.constantFrom(...KEYS), ofJson)
    .map(([key, comparison]) => ({ field: `custom_attributes.${key}`, ...comparison })),
);

const eventCondition = fc
  .tuple(
    eventName,
    fc.oneof(
      fc.record({ aggregate: fc.constant('count'), comparison: ofNumber }),
      fc.record({
        aggregate: fc.constantFrom('sum', 'avg', 'min', 'max', 'distinct'),
        property,
        comparison: fc.oneof(ofNumber, ofMoney),
      }),
      fc.record({ aggregate: fc.constantFrom('first_seen', 'last_seen'), comparison: ofDate }),
    ),
    window,
    where,
  )
  .map(([name, { comparison, ...rest }, window, where]) => ({
    event: name,
    ...rest,
    ...comparison,
    window,
    where,
  }));

const sequenceCondition = fc.record({
  steps: fc
    .array(fc.record({ event: eventName, where, within: span }, { requiredKeys: ['event'] }), {
      minLength: 2,
      maxLength: 4,
    })
    .map(([first, ...rest]) => {
      const { within: _, ...begin } = first ?? { event: 'login' };
      return [begin, ...rest];
    }),
  window,
});

const messageCondition = fc.record(
  {
    channel: fc.constantFrom(...CHANNELS),
    status: fc.constantFrom('sent', 'delivered', 'opened', 'clicked', 'bounced', 'failed', 'capped'),
    campaign_id: fc.constantFrom(...CAMPAIGNS),
    window,
  },
  { requiredKeys: ['channel', 'status'] },
);

/** Definitions with conditions of all kinds, including conditions on these segments. */
export function definitionOver(
  segment_ids: readonly string[],
  list_ids: readonly string[] = segment_ids,
): fc.Arbitrary<WrittenGroup> {
  const condition = fc.oneof(
    { weight: 4, arbitrary: traitCondition.map((rest) => ({ type: 'trait', ...rest })) },
    { weight: 5, arbitrary: eventCondition.map((rest) => ({ type: 'event', ...rest })) },
    { weight: 1, arbitrary: messageCondition.map((rest) => ({ type: 'message', ...rest })) },
    { weight: 1, arbitrary: sequenceCondition.map((rest) => ({ type: 'sequence', ...rest })) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('segment'),
        segment_id: fc.constantFrom(...segment_ids),
        op: fc.constantFrom('in', 'not_in'),
      }),
    },
    // A list has no past, so a test of the past draws none.
    ...(list_ids.length === 0
      ? []
      : [
          {
            weight: 1,
            arbitrary: fc.record({ type: fc.constant('list'), list_id: fc.constantFrom(...list_ids) }),
          },
        ]),
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('random'),
        percent: fc.constantFrom(0, 5, 20, 33.3333, 100),
        salt: fc.constantFrom(...SALTS),
      }),
    },
  ) as fc.Arbitrary<WrittenCondition>;
  const group = (child: fc.Arbitrary<WrittenNode>): fc.Arbitrary<WrittenGroup> =>
    fc.oneof(
      fc.record({
        operator: fc.constantFrom('AND', 'OR'),
        conditions: fc.array(child, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ operator: fc.constant('NOT'), conditions: child.map((only) => [only]) }),
    );
  return group(fc.oneof({ weight: 3, arbitrary: condition }, { weight: 1, arbitrary: group(condition) }));
}
