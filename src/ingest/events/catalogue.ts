/**
 * The event catalogue (spec part 6): every canonical name with the schema of its properties.
 * Validation, types and the OpenAPI document are derived from it.
 */

/** Keys of an event's properties, those of objects inside of them included. */
export const MAX_PROPERTY_KEYS = 2_000;

/** JSON Schema of one property. */
export type PropertySchema = Readonly<Record<string, unknown>>;

export interface EventDefinition {
  group: string;
  required: readonly string[];
  /** Schemas of the properties the service reads, required or not; all others are free. */
  properties: Readonly<Record<string, PropertySchema>>;
}

/** The longest id that a caller may make up, in UTF-16 units: anonymous_id, external_id, transaction_id, bet_id. */
export const MAX_ID_LENGTH = 256;
/** The longest other text of an event that the service reads, such as game_id. */
export const MAX_TEXT_LENGTH = 1024;
/** Events in one batch request (spec part 8). */
export const MAX_BATCH_EVENTS = 100;

/**
 * An id of the ledger, by which money counts once. The format `reference` refuses the text of an empty value: the money of
 * all events whose program lacks the id would be that of one.
 */
const id: PropertySchema = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_ID_LENGTH,
  format: 'reference',
  description: 'Unique in the project; the text of an empty value, such as undefined or 0, is refused',
};
export { id as ID_SCHEMA };
const text: PropertySchema = { type: 'string', minLength: 1, maxLength: MAX_TEXT_LENGTH };
/**
 * In the smallest unit. Not every client reads a JSON number above 2^53 − 1 exactly: such an amount is a digit string.
 */
const money: PropertySchema = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: '^(0|[1-9][0-9]{0,37})$' },
  ],
};
const currency: PropertySchema = { type: 'string', minLength: 1, maxLength: 16 };
/** ISO-8601 with an offset, like an event's own time. */
const breakEnd: PropertySchema = {
  type: 'string',
  format: 'date-time',
  description:
    'The end of the break; without it the break lasts 24 hours. A self-exclusion has no end: until in self_exclusion_set is not read, and self_exclusion_lifted alone ends it',
};
const oneOf = (...values: string[]): PropertySchema => ({ enum: values });

const gameCategory = oneOf(
  'slots',
  'live',
  'table',
  'crash',
  'dice',
  'bingo',
  'poker',
  'virtual',
  'lottery',
  'instant',
  'other',
);
export const MAX_KYC_LEVEL = 100;
const kycLevel: PropertySchema = { type: 'integer', minimum: 0, maximum: MAX_KYC_LEVEL };

/** The day or the moment at which an approval is over; null: it has no end. */
const kycEnd: PropertySchema = { type: ['string', 'null'], format: 'date-or-time' };

/** The provider's id of one debit or credit of a bet. */
const movement = { movement_id: id };
const bonusStake = { bonus_stake: { ...money, description: 'The part of amount that is bonus money' } };
const bonusPayout = { bonus_payout: { ...money, description: 'The part of payout that is bonus money' } };
/** The bonus parts of bets, with the property that each is a part of. A part is never larger than its whole. */
export const WHOLES = { bonus_stake: 'amount', bonus_payout: 'payout' } as const;
const transaction = { amount: money, currency, transaction_id: id };
const reversal = [{ ...transaction, reversal_id: id }, { reason: text }] as const;
const BALANCE_REASONS = oneOf(
  'cashback',
  'prize',
  'bonus_release',
  'goodwill',
  'fee',
  'tip',
  'correction',
  'other',
);
const outcome = {
  ...oneOf('won', 'lost', 'push'),
  description: 'A bet that is void is the event bet_voided',
};
const casinoBet = { amount: money, currency, bet_id: id, game_id: text, game_category: gameCategory };
const sportOutcome = { bet_id: id, payout: money, currency };

/** The properties of `required` must be present; those of `optional` are checked when present. */
function define(
  group: string,
  required: Record<string, PropertySchema> = {},
  optional: Record<string, PropertySchema> = {},
): EventDefinition {
  return { group, required: Object.keys(required), properties: { ...required, ...optional } };
}

function plain<Name extends string>(group: string, ...names: Name[]): Record<Name, EventDefinition> {
  return Object.fromEntries(names.map((name) => [name, define(group)])) as Record<Name, EventDefinition>;
}

const kyc = define('KYC', {}, { level: kycLevel });
const kycApproval = define('KYC', {}, { level: kycLevel, expires_at: kycEnd });

export const EVENTS = {
  ...plain(
    'Identity / session',
    'signup',
    'login',
    'logout',
    'session_start',
    'session_end',
    'page_view',
    'click',
  ),
  kyc_submitted: kyc,
  kyc_approved: kycApproval,
  kyc_rejected: kyc,
  kyc_expired: kyc,
  kyc_level_upgraded: kycApproval,
  ...plain(
    'Responsible gaming',
    'self_exclusion_set',
    'self_exclusion_lifted',
    'deposit_limit_set',
    'deposit_limit_reached',
    'loss_limit_set',
    'loss_limit_reached',
    'session_limit_warning',
    'session_limit_exceeded',
    'reality_check',
  ),
  cooldown_entered: define('Responsible gaming', {}, { until: breakEnd }),
  deposit_initiated: define('Deposits', { ...transaction, payment_method: text }),
  deposit_confirmed: define('Deposits', { ...transaction, payment_method: text }),
  deposit_failed: define('Deposits', {}, transaction),
  deposit_reversed: define('Deposits', ...reversal),
  withdrawal_requested: define('Withdrawals', transaction),
  withdrawal_confirmed: define('Withdrawals', transaction),
  withdrawal_failed: define('Withdrawals', {}, transaction),
  withdrawal_reversed: define('Withdrawals', ...reversal),
  balance_credited: define('Balance', { ...transaction, reason: BALANCE_REASONS }),
  balance_debited: define('Balance', { ...transaction, reason: BALANCE_REASONS }),
  bet_placed: define('Casino wagering', casinoBet, { ...movement, ...bonusStake }),
  bet_won: define(
    'Casino wagering',
    { bet_id: id, payout: money, currency },
    { ...movement, ...bonusPayout },
  ),
  bet_lost: define('Casino wagering', { bet_id: id }),
  bet_settled: define(
    'Casino wagering',
    { ...casinoBet, payout: money, outcome },
    { ...bonusStake, ...bonusPayout },
  ),
  bet_voided: define('Casino wagering', { bet_id: id }, movement),
  sport_bet_placed: define(
    'Sportsbook (two-phase)',
    {
      amount: money,
      currency,
      bet_id: id,
      sport: text,
      bet_type: oneOf('single', 'accumulator', 'system', 'bet_builder', 'each_way', 'other'),
      odds: text,
      event_ref: text,
    },
    bonusStake,
  ),
  sport_bet_settled: define('Sportsbook (two-phase)', sportOutcome, {
    amount: money,
    ...bonusStake,
    ...bonusPayout,
  }),
  sport_bet_voided: define('Sportsbook (two-phase)', { bet_id: id }, movement),
  sport_bet_reopened: define('Sportsbook (two-phase)', { bet_id: id }),
  sport_cashout: define('Sportsbook (two-phase)', sportOutcome, { ...movement, ...bonusPayout }),
  ...plain('Bonuses', 'bonus_claimed', 'bonus_wagered', 'bonus_completed', 'bonus_expired'),
  ...plain(
    'Messaging feedback',
    'email_sent',
    'email_opened',
    'email_clicked',
    'email_bounced',
    'sms_sent',
    'sms_clicked',
    'push_sent',
    'push_opened',
    'push_clicked',
  ),
} as const satisfies Record<string, EventDefinition>;

export type EventName = keyof typeof EVENTS;

/** Custom events carry this prefix and no schema. */
export const CUSTOM_PREFIX = 'custom_';
export const MAX_EVENT_NAME_LENGTH = 128;

/** The definition of a canonical event, or undefined. */
export function definitionOf(name: string): EventDefinition | undefined {
  return Object.hasOwn(EVENTS, name) ? EVENTS[name as EventName] : undefined;
}

/** The JSON Schema of an event's properties (draft 7, as ajv and OpenAPI read it). */
export function propertiesSchema(definition: EventDefinition): Record<string, unknown> {
  return { type: 'object', required: definition.required, properties: definition.properties };
}

/** The properties by which the money of an event counts once; an event has at most one of them. */
export const REFERENCES = ['transaction_id', 'bet_id'] as const;

/**
 * The transaction_id or bet_id by which the money of an event counts once; undefined for an event without money, and for one
 * that came without it (a failed deposit may).
 */
export function referenceOf(
  event: string,
  properties: Readonly<Record<string, unknown>>,
): string | undefined {
  const known = definitionOf(event)?.properties ?? {};
  const name = REFERENCES.find((one) => Object.hasOwn(known, one));
  const reference = name === undefined ? undefined : properties[name];
  return typeof reference === 'string' ? reference : undefined;
}

const OWN_ACTIVITY = new Set(['login', 'session_start', 'session_end', 'page_view', 'click']);
const GROUPS_OF_ACTIVITY = new Set(['Deposits', 'Withdrawals', 'Casino wagering', 'Sportsbook (two-phase)']);
/** Of these groups, but done by the operator or its providers. */
const NO_ACTIVITY = new Set([
  'bet_voided',
  'sport_bet_voided',
  'sport_bet_reopened',
  'deposit_reversed',
  'withdrawal_reversed',
]);

/**
 * Whether the event is the player's own activity (`bonuses.md` 7): opening our mail, KYC, responsible gaming,
 * voids, reversals and what an operator adds to a balance are not.
 */
export function isActivity(event: string): boolean {
  if (OWN_ACTIVITY.has(event)) return true;
  return GROUPS_OF_ACTIVITY.has(definitionOf(event)?.group ?? '') && !NO_ACTIVITY.has(event);
}
