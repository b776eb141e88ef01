import type {
  NaiveEvent,
  NaiveMessage,
  NaivePlayer,
  WrittenComparison,
  WrittenCondition,
  WrittenGroup,
  WrittenNode,
  WrittenSpan,
  WrittenWhere,
  WrittenWindow,
} from './naive.ts';

// Shorthands for examples: definitions, and players with only the values that matter.

/** The time at which every example is evaluated. */
export const EXAMPLE_NOW = '2026-05-15T12:00:00.000Z';
const NOW_MS = Date.parse(EXAMPLE_NOW);
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface ExampleEvent {
  event: string;
  /** Milliseconds before now; negative values lie in the future. */
  ago: number;
  properties?: Record<string, Json>;
}
type Json = NaiveEvent['properties'][string];

/** Times as milliseconds before now. */
export interface ExampleMessage {
  channel?: string;
  campaign_id?: string;
  /** The stored status; `sent` when absent. */
  status?: string;
  queued: number;
  sent?: number;
  delivered?: number;
  opened?: number;
  clicked?: number;
  bounced?: number;
}

export interface ExamplePlayer {
  /** Times as milliseconds before now. */
  traits?: Record<string, string | number | null>;
  attributes?: Record<string, Json>;
  events?: ExampleEvent[];
  messages?: ExampleMessage[];
  segments?: string[];
  player_id?: string;
}

/** A definition, and players with a reason why each is in or out. */
export interface Example {
  title: string;
  definition: WrittenGroup;
  in: Record<string, ExamplePlayer>;
  out: Record<string, ExamplePlayer>;
}

export const and = (...conditions: WrittenNode[]): WrittenGroup => ({ operator: 'AND', conditions });
export const or = (...conditions: WrittenNode[]): WrittenGroup => ({ operator: 'OR', conditions });
export const not = (condition: WrittenNode): WrittenGroup => ({ operator: 'NOT', conditions: [condition] });

export function trait(field: string, op: string, value?: unknown): WrittenCondition {
  return { type: 'trait', field, ...comparing(op, value) };
}

/** Restricts the events that a condition counts. */
interface Narrowing {
  window?: WrittenWindow;
  where?: WrittenWhere;
}

export function count(
  event: string,
  op: string,
  value: unknown,
  narrowing: Narrowing = {},
): WrittenCondition {
  return { type: 'event', event, aggregate: 'count', ...comparing(op, value), ...narrowing };
}

export function aggregate(
  [name, event, property]: [name: string, event: string, property?: string],
  op: string,
  value?: unknown,
  narrowing: Narrowing = {},
): WrittenCondition {
  const of_property = property === undefined ? {} : { property };
  return { type: 'event', event, aggregate: name, ...of_property, ...comparing(op, value), ...narrowing };
}

/** A condition on messages; the channel is email by default. */
export function message(
  status: string,
  rest: { channel?: string; campaign_id?: string; window?: WrittenWindow } = {},
): WrittenCondition {
  return { type: 'message', channel: 'email', status, ...rest };
}

export function where(property: string, op: string, value?: unknown): WrittenWhere[number] {
  return { property, ...comparing(op, value) };
}

function comparing(op: string, value: unknown): WrittenComparison {
  return value === undefined ? { op } : { op, value };
}

export const last = (days: number): { last: WrittenSpan } => ({ last: { days } });
export const lastHours = (hours: number): { last: WrittenSpan } => ({ last: { hours } });

/** An event `ago` milliseconds before now. */
export function did(event: string, ago: number, properties: Record<string, Json> = {}): ExampleEvent {
  return { event, ago, properties };
}

const DATE_TRAITS = new Set([
  'first_seen_at',
  'last_seen_at',
  'created_at',
  'tier_promoted_at',
  'deleted_at',
]);
/** Default values of a player: registered 100 days ago, without any activity. */
const NOBODY = {
  email: null,
  phone: null,
  telegram_id: null,
  timezone: null,
  status: 'active',
  default_currency_code: 'EUR',
  current_tier_code: null,
  tier_promoted_at: null,
  kyc_status: 'none',
  kyc_level: 0,
  churn_score: 0,
  ltv_predicted: null,
  first_seen_at: 100 * DAY,
  last_seen_at: 100 * DAY,
  total_deposited: 0,
  total_withdrawn: 0,
  total_wagered: 0,
  total_won: 0,
  ggr: 0,
  bet_count: 0,
  session_count: 0,
  created_at: 100 * DAY,
  deleted_at: null,
} as const;

/** The player with defaults filled in and times as instants. */
export function playerOf(example: ExamplePlayer, player_id: string): NaivePlayer {
  const traits = Object.entries({ ...NOBODY, ...example.traits }).map(([name, value]) => [
    name,
    DATE_TRAITS.has(name) && typeof value === 'number' ? NOW_MS - value : value,
  ]);
  return {
    player_id: example.player_id ?? player_id,
    traits: Object.fromEntries(traits) as NaivePlayer['traits'],
    custom_attributes: example.attributes ?? {},
    events: (example.events ?? []).map(eventOf),
    messages: (example.messages ?? []).map(messageOf),
    segment_ids: new Set(example.segments),
  };
}

function messageOf({ channel = 'email', campaign_id = null, status = 'sent', ...times }: Sent): NaiveMessage {
  const at = (ago: number | undefined) => (ago === undefined ? null : NOW_MS - ago);
  return {
    channel,
    campaign_id,
    status,
    enqueued_ms: NOW_MS - times.queued,
    sent_ms: at(times.sent),
    delivered_ms: at(times.delivered),
    opened_ms: at(times.opened),
    clicked_ms: at(times.clicked),
    bounced_ms: at(times.bounced),
  };
}
type Sent = Omit<ExampleMessage, 'campaign_id'> & { campaign_id?: string | null };

/**
 * `amount` and `payout` of an example are in the base currency. The properties hold the sent amounts, here in a
 * currency worth a tenth of it.
 */
function eventOf({ event, ago, properties = {} }: ExampleEvent): NaiveEvent {
  const { amount, payout, ...rest } = properties;
  const base_amount = typeof amount === 'number' ? amount : null;
  const base_payout = typeof payout === 'number' ? payout : null;
  return {
    event,
    occurred_ms: NOW_MS - ago,
    base_amount,
    base_payout,
    properties: {
      ...rest,
      ...(base_amount === null ? {} : { amount: base_amount * 10 }),
      ...(base_payout === null ? {} : { payout: base_payout * 10 }),
    },
  };
}
