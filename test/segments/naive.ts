import { createHash } from 'node:crypto';

// Evaluates a definition for one player directly, as the language describes it. It shares no code with the compiler.

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface NaiveEvent {
  event: string;
  occurred_ms: number;
  base_amount: number | null;
  base_payout: number | null;
  base_bonus_stake?: number | null;
  base_bonus_payout?: number | null;
  properties: Record<string, Json>;
}

/** Times in milliseconds; null when the message never reached that state. */
export interface NaiveMessage {
  channel: string;
  campaign_id: string | null;
  status: string;
  enqueued_ms: number;
  sent_ms: number | null;
  delivered_ms: number | null;
  opened_ms: number | null;
  clicked_ms: number | null;
  bounced_ms: number | null;
}

export interface NaivePlayer {
  player_id: string;
  /** By field name; times in milliseconds. */
  traits: Record<string, string | number | null>;
  custom_attributes: Record<string, Json>;
  events: NaiveEvent[];
  messages: NaiveMessage[];
  segment_ids: ReadonlySet<string>;
}

export type WrittenSpan = { days: number } | { hours: number };
export type WrittenWindow = { last: WrittenSpan } | { from: string; to: string } | null;
export interface WrittenComparison {
  op: string;
  value?: unknown;
}
export type WrittenWhere = (WrittenComparison & { property: string })[];
export type WrittenCondition =
  | ({ type: 'trait'; field: string } & WrittenComparison)
  | ({
      type: 'event';
      event: string;
      aggregate: string;
      property?: string;
      window?: WrittenWindow;
      where?: WrittenWhere;
    } & WrittenComparison)
  | {
      type: 'sequence';
      steps: { event: string; where?: WrittenWhere; within?: WrittenSpan }[];
      window?: WrittenWindow;
    }
  | { type: 'segment'; segment_id: string; op: string }
  | { type: 'list'; list_id: string }
  | { type: 'message'; channel: string; status: string; campaign_id?: string; window?: WrittenWindow }
  | { type: 'random'; percent: number; salt: string };
export interface WrittenGroup {
  operator: string;
  conditions: WrittenNode[];
}
export type WrittenNode = WrittenGroup | WrittenCondition;

const DATE_FIELDS = new Set([
  'first_seen_at',
  'last_seen_at',
  'created_at',
  'tier_promoted_at',
  'deleted_at',
]);
const HOUR_MS = 3_600_000;

/** Whether the player belongs to the segment at `now_ms`. */
export function matches(node: WrittenNode, player: NaivePlayer, now_ms: number): boolean {
  if ('operator' in node) {
    const results = node.conditions.map((child) => matches(child, player, now_ms));
    if (node.operator === 'AND') return results.every(Boolean);
    return node.operator === 'OR' ? results.some(Boolean) : !results[0];
  }
  switch (node.type) {
    case 'trait':
      return trait(node, player, now_ms);
    case 'event':
      return aggregate(node, player, now_ms);
    case 'sequence':
      return sequence(node, player, now_ms);
    case 'segment':
      return player.segment_ids.has(node.segment_id) === (node.op === 'in');
    case 'list':
      return player.segment_ids.has(node.list_id);
    case 'message':
      return message(node, player, now_ms);
    case 'random':
      return draw(node.salt, player.player_id) < node.percent * 10_000;
  }
}

function trait(
  { field, op, value }: WrittenComparison & { field: string },
  player: NaivePlayer,
  now_ms: number,
): boolean {
  const key = /^custom_attributes\.(.*)$/s.exec(field)?.[1];
  const stored = key === undefined ? player.traits[field] : own(player.custom_attributes, key);
  if (DATE_FIELDS.has(field)) return holdsForDate(op, value, (stored ?? null) as number | null, now_ms);
  return holds(op, value, stored ?? null, now_ms);
}

function own(object: Record<string, Json>, key: string): Json {
  return Object.hasOwn(object, key) ? (object[key] ?? null) : null;
}

const COMPLEMENTS: Record<string, string> = {
  '!=': '=',
  neq: 'eq',
  nin: 'in',
  not_exists: 'exists',
  not_within_last: 'within_last',
};

function holds(op: string, value: unknown, stored: Json, now_ms: number): boolean {
  const positive = COMPLEMENTS[op];
  if (positive !== undefined) return !holds(positive, value, stored, now_ms);
  if (stored === null) return false;
  switch (op) {
    case 'exists':
      return true;
    case '=':
    case 'eq':
      return stored === value;
    case 'in':
      return (value as unknown[]).includes(stored);
    case 'contains':
      if (Array.isArray(stored)) return (stored as unknown[]).includes(value);
      return typeof stored === 'string' && typeof value === 'string' && stored.includes(value);
    case 'starts_with':
      return typeof stored === 'string' && stored.startsWith(value as string);
    case 'between':
      if (typeof (value as unknown[])[0] === 'string') return holdsForDate(op, value, dateOf(stored), now_ms);
      return typeof stored === 'number' && between(stored, value as [number, number]);
    case 'before':
    case 'after':
    case 'within_last':
      return holdsForDate(op, value, dateOf(stored), now_ms);
    default:
      return typeof stored === 'number' && compares(op, stored, value as number);
  }
}

function compares(op: string, left: number, right: number): boolean {
  if (op === 'gt' || op === '>') return left > right;
  if (op === 'gte' || op === '>=') return left >= right;
  if (op === 'lt' || op === '<') return left < right;
  if (op === 'lte' || op === '<=') return left <= right;
  throw new Error(`no such operator: ${op}`);
}

function between(stored: number, [low, high]: [number, number]): boolean {
  return stored >= low && stored <= high;
}

function dateOf(stored: Json): number | null {
  if (typeof stored !== 'string') return null;
  return /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(stored)
    ? Date.parse(stored)
    : null;
}

function holdsForDate(op: string, value: unknown, at_ms: number | null, now_ms: number): boolean {
  const positive = COMPLEMENTS[op];
  if (positive !== undefined) return !holdsForDate(positive, value, at_ms, now_ms);
  if (at_ms === null) return false;
  if (op === 'exists') return true;
  if (op === 'before') return at_ms < Date.parse(value as string);
  if (op === 'after') return at_ms > Date.parse(value as string);
  if (op === 'within_last') return at_ms > now_ms - spanOf(value as WrittenSpan) && at_ms <= now_ms;
  const [low, high] = value as [string, string];
  return at_ms >= Date.parse(low) && at_ms <= Date.parse(high);
}

function spanOf(span: WrittenSpan): number {
  return 'days' in span ? span.days * 24 * HOUR_MS : span.hours * HOUR_MS;
}

function selected(
  player: NaivePlayer,
  event: string,
  window: WrittenWindow | undefined,
  where: WrittenWhere = [],
  now_ms: number,
): NaiveEvent[] {
  return player.events.filter((one) => {
    if (one.event !== event) return false;
    if (!isWithin(one.occurred_ms, window, now_ms)) return false;
    return where.every(({ property, op, value }) => holds(op, value, propertyOf(one, property), now_ms));
  });
}

function isWithin(at_ms: number, window: WrittenWindow | undefined, now_ms: number): boolean {
  if (!window) return true;
  if ('last' in window) return at_ms > now_ms - spanOf(window.last) && at_ms <= now_ms;
  return at_ms >= Date.parse(window.from) && at_ms < Date.parse(window.to);
}

function message(
  { channel, status, campaign_id, window }: Extract<WrittenCondition, { type: 'message' }>,
  player: NaivePlayer,
  now_ms: number,
): boolean {
  const reached = (one: NaiveMessage): number | null => {
    switch (status) {
      case 'sent':
        return one.sent_ms;
      case 'delivered':
        return one.delivered_ms ?? one.opened_ms ?? one.clicked_ms;
      case 'opened':
        return one.opened_ms ?? one.clicked_ms;
      case 'clicked':
        return one.clicked_ms;
      case 'bounced':
        return one.bounced_ms;
      default:
        return one.status === status ? one.enqueued_ms : null;
    }
  };
  return player.messages.some((one) => {
    if (one.channel !== channel) return false;
    if (campaign_id !== undefined && one.campaign_id !== campaign_id) return false;
    const at_ms = reached(one);
    return at_ms !== null && isWithin(at_ms, window, now_ms);
  });
}

/** The bets of which the bonus parts are money; elsewhere these names are free. */
const BONUS_STAKE = ['bet_placed', 'bet_settled', 'sport_bet_placed', 'sport_bet_settled'];
const BONUS_PAYOUT = ['bet_won', 'bet_settled', 'sport_bet_settled', 'sport_cashout'];

function propertyOf(event: NaiveEvent, property: string): Json {
  const sent = own(event.properties, property);
  if (property === 'bonus_stake' && BONUS_STAKE.includes(event.event)) return event.base_bonus_stake ?? null;
  if (property === 'bonus_payout' && BONUS_PAYOUT.includes(event.event))
    return event.base_bonus_payout ?? null;
  if (property !== 'amount' && property !== 'payout') return sent;
  const base = property === 'amount' ? event.base_amount : event.base_payout;
  if (base !== null || isMoney(event, property)) return base;
  if (typeof sent === 'number') return sent;
  return typeof sent === 'string' && /^\d{1,38}$/.test(sent) ? Number(sent) : null;
}

/** Whether the property can only be money; of what has no rate nothing is known. */
function isMoney({ event, properties }: NaiveEvent, property: 'amount' | 'payout'): boolean {
  const currency = own(properties, 'currency');
  if (typeof currency === 'string' && currency !== '') return true;
  const with_amount = [
    'deposit_initiated',
    'deposit_confirmed',
    'withdrawal_requested',
    'withdrawal_confirmed',
  ];
  const of_bets = ['bet_placed', 'bet_settled', 'sport_bet_placed', 'sport_bet_settled'];
  if (property === 'amount') return [...with_amount, ...of_bets].includes(event);
  return ['bet_won', 'bet_lost', 'bet_settled', 'sport_bet_settled', 'sport_cashout'].includes(event);
}

function aggregate(
  condition: Extract<WrittenCondition, { type: 'event' }>,
  player: NaivePlayer,
  now_ms: number,
): boolean {
  const { event, property = '', window, where, op, value } = condition;
  const events = selected(player, event, window, where, now_ms);
  const times = events.map(({ occurred_ms }) => occurred_ms);
  const stored = events.map((one) => propertyOf(one, property));
  const numbers = stored.filter((one) => typeof one === 'number');
  switch (condition.aggregate) {
    case 'count':
      return holds(op, value, events.length, now_ms);
    case 'distinct':
      return holds(
        op,
        value,
        new Set(stored.filter((one) => one !== null).map((one) => JSON.stringify(one))).size,
        now_ms,
      );
    case 'sum':
      return holds(op, value, total(numbers), now_ms);
    case 'avg':
      return holds(op, value, numbers.length === 0 ? null : total(numbers) / numbers.length, now_ms);
    case 'min':
      return holds(op, value, numbers.length === 0 ? null : Math.min(...numbers), now_ms);
    case 'max':
      return holds(op, value, numbers.length === 0 ? null : Math.max(...numbers), now_ms);
    case 'first_seen':
      return holdsForDate(op, value, times.length === 0 ? null : Math.min(...times), now_ms);
    case 'last_seen':
      return holdsForDate(op, value, times.length === 0 ? null : Math.max(...times), now_ms);
    default:
      throw new Error(`no such aggregate: ${condition.aggregate}`);
  }
}

/** Exact for numbers with up to four decimals, which is enough for the tests. */
function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + Math.round(one * 10_000), 0) / 10_000;
}

function sequence(
  { steps, window }: Extract<WrittenCondition, { type: 'sequence' }>,
  player: NaivePlayer,
  now_ms: number,
): boolean {
  const walk = (i: number, previous_ms: number): boolean => {
    const step = steps[i];
    if (step === undefined) return true;
    return selected(player, step.event, window, step.where, now_ms).some(({ occurred_ms }) => {
      const late = step.within !== undefined && i > 0 && occurred_ms - previous_ms > spanOf(step.within);
      return occurred_ms > previous_ms && !late && walk(i + 1, occurred_ms);
    });
  };
  return walk(0, -Infinity);
}

function draw(salt: string, player_id: string): number {
  const digest = createHash('md5').update(`${salt}:${player_id}`).digest();
  return Number(digest.readBigUInt64BE() % 1_000_000n);
}
