import { definitionOf, WHOLES } from '../../ingest/events/catalogue.ts';
import { KYC_STATUSES } from '../../protection/kyc/decide.ts';
import { PLAYER_STATUSES } from '../../players/profile/schema.ts';
import type { ValueKind } from './operands.ts';

/** The unit of amounts that conditions compare. */
export const MONEY_UNIT = 'base_subunit';

/** A field of the player that conditions of type `trait` may read: a column of ClickHouse's `players`. */
export interface TraitField {
  kind: Exclude<ValueKind, 'json'>;
  /** Whether a player may have no value. */
  nullable: boolean;
  /** Of money: the smallest unit of the base currency. */
  unit?: typeof MONEY_UNIT;
  /** For numbers: ClickHouse stores it as a double; absent: as an integer. */
  is_fraction?: true;
  /** All allowed values, for fields with a fixed set of values. */
  values?: readonly string[];
  /** How many values `in` and `nin` may list; absent: as many as for any operand. */
  max_values?: number;
}

const count: TraitField = { kind: 'number', nullable: false };
const money: TraitField = { ...count, unit: MONEY_UNIT };
const optionalText: TraitField = { kind: 'text', nullable: true };
const date: TraitField = { kind: 'date', nullable: false };
const optionalDate: TraitField = { kind: 'date', nullable: true };

/**
 * Every trait field, by its name in the player resource (spec part 2), which is also the name of its column. Money is
 * in the smallest unit of the base currency.
 */
export const TRAIT_FIELDS = {
  // Managers paste the ids of a list that they were given.
  external_id: { ...optionalText, max_values: 10_000 },
  email: optionalText,
  phone: optionalText,
  telegram_id: optionalText,
  timezone: optionalText,
  status: { kind: 'text', nullable: false, values: PLAYER_STATUSES },
  default_currency_code: { kind: 'text', nullable: false },
  current_tier_code: optionalText,
  tier_promoted_at: optionalDate,
  kyc_status: { kind: 'text', nullable: false, values: KYC_STATUSES },
  kyc_level: count,
  churn_score: { kind: 'number', nullable: false, is_fraction: true },
  ltv_predicted: { kind: 'number', nullable: true, is_fraction: true },
  first_seen_at: date,
  last_seen_at: date,
  total_deposited: money,
  total_withdrawn: money,
  total_wagered: money,
  total_won: money,
  total_bonus_wagered: money,
  total_bonus_won: money,
  total_credited: money,
  total_debited: money,
  ggr: money,
  ngr: money,
  bet_count: count,
  session_count: count,
  created_at: date,
  deleted_at: optionalDate,
} as const satisfies Record<string, TraitField>;
export type TraitFieldName = keyof typeof TRAIT_FIELDS;

/** The description of a trait field. */
export function traitField(name: TraitFieldName): TraitField {
  return TRAIT_FIELDS[name];
}

/** A field with this prefix names a key of the player's custom attributes. */
export const ATTRIBUTE_PREFIX = 'custom_attributes.';

export function isTraitField(name: string): name is TraitFieldName {
  return Object.hasOwn(TRAIT_FIELDS, name);
}

/**
 * Properties of events that are money, with their columns in ClickHouse: compared in the smallest unit of the base
 * currency, converted at the rate of the event's time. On events that are not in the ledger they may be other numbers.
 */
export const MONEY_PROPERTIES = {
  amount: 'base_amount',
  payout: 'base_payout',
  bonus_stake: 'base_bonus_stake',
  bonus_payout: 'base_bonus_payout',
} as const;
export type MoneyProperty = keyof typeof MONEY_PROPERTIES;

/**
 * Whether the property of the event is money. Bonus parts are on the events of bets that read them; on others they are free
 * (docs/feeds.md, What counts how). `event` undefined: of an object whose event is not known, where it has a currency.
 */
export function isMoneyProperty(property: string, event: string | undefined): property is MoneyProperty {
  if (!Object.hasOwn(MONEY_PROPERTIES, property)) return false;
  if (event === undefined || !Object.hasOwn(WHOLES, property)) return true;
  return Object.hasOwn(definitionOf(event)?.properties ?? {}, property);
}
