import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import { NOW_MS, player as drawnPlayer } from '../arbitraries.ts';
import type { Json, NaiveMessage } from '../naive.ts';

/** An event with what it counts, and when it was received. */
interface CountedEvent {
  event: string;
  occurred_ms: number;
  received_ms: number;
  base_amount: number | null;
  base_payout: number | null;
  base_bonus_stake: number | null;
  base_bonus_payout: number | null;
  stake_counted: number;
  payout_counted: number;
  bonus_stake_counted: number;
  bonus_payout_counted: number;
  properties: Record<string, Json>;
}

/** A player at NOW_MS and what has become of it since. */
export interface PlayerOfTwoTimes {
  player_id: string;
  /** Of the row, without totals. */
  traits: Record<string, string | number | null>;
  custom_attributes: Record<string, Json>;
  events: CountedEvent[];
  messages: NaiveMessage[];
  /** After NOW_MS: known to nobody at NOW_MS. */
  later_events: CountedEvent[];
  later_messages: NaiveMessage[];
  deleted_later: boolean;
  /** The player came after NOW_MS. */
  is_new: boolean;
}

const HOUR_MS = 3_600_000;
const amount = fc.constantFrom(0, 100, 250, 500, 1_000);
const MONEY = [
  'deposit_confirmed',
  'deposit_reversed',
  'withdrawal_confirmed',
  'withdrawal_reversed',
  'balance_credited',
  'balance_debited',
  'bet_placed',
  'sport_bet_settled',
];
const isBet = (event: string) => event === 'bet_placed' || event === 'sport_bet_settled';

const countedEvent = (received: fc.Arbitrary<number>): fc.Arbitrary<CountedEvent> =>
  fc
    .record({
      event: fc.constantFrom(...MONEY, 'login', 'custom_spin', 'session_start'),
      back_ms: fc.constantFrom(0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, 30 * 24 * HOUR_MS),
      received_ms: received,
      amounts: fc.tuple(amount, amount, amount, amount),
      is_counted: fc.boolean(),
      properties: fc.dictionary(
        fc.constantFrom('game', 'points', 'vip'),
        fc.constantFrom<Json>('slots', 12, true),
        {
          maxKeys: 2,
        },
      ),
    })
    .map(({ event, back_ms, received_ms, amounts: [stake, payout, bonus_stake, bonus_payout], ...rest }) => {
      const is_money = MONEY.includes(event);
      const counts = is_money && rest.is_counted;
      return {
        event,
        occurred_ms: received_ms - back_ms,
        received_ms,
        base_amount: is_money ? stake : null,
        base_payout: isBet(event) ? payout : null,
        base_bonus_stake: isBet(event) ? bonus_stake : null,
        base_bonus_payout: isBet(event) ? bonus_payout : null,
        stake_counted: counts ? stake : 0,
        payout_counted: counts && isBet(event) ? payout : 0,
        bonus_stake_counted: counts && isBet(event) ? bonus_stake : 0,
        bonus_payout_counted: counts && isBet(event) ? bonus_payout : 0,
        properties: rest.properties,
      };
    });

const before = fc.integer({ min: 0, max: 60 }).map((days) => NOW_MS - days * 24 * HOUR_MS);
const after = fc.integer({ min: 1, max: 72 }).map((hours) => NOW_MS + hours * HOUR_MS);

const clampedMessages = (messages: readonly NaiveMessage[], shift_ms: number): NaiveMessage[] =>
  messages.map((message) => {
    const moved = Object.entries(message).map(([name, value]) => [
      name,
      name.endsWith('_ms') && typeof value === 'number' ? Math.min(value, NOW_MS) + shift_ms : value,
    ]);
    return Object.fromEntries(moved) as NaiveMessage;
  });

const DAY_AFTER_MS = 90 * 24 * HOUR_MS;

/** Players with events of before and after NOW_MS, some of them received late. */
export const playerOfTwoTimes: fc.Arbitrary<PlayerOfTwoTimes> = fc
  .record({
    drawn: drawnPlayer,
    events: fc.array(countedEvent(before), { maxLength: 10 }),
    later_events: fc.array(countedEvent(after), { maxLength: 6 }),
    later_messages: fc.boolean(),
    deleted_later: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    is_new: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
  })
  .map(({ drawn, later_messages, events, ...rest }) => ({
    ...rest,
    player_id: randomUUID(),
    traits: {
      ...drawn.traits,
      created_at: rest.is_new ? NOW_MS + HOUR_MS : Math.min(NOW_MS, Number(drawn.traits['created_at'])),
    },
    custom_attributes: drawn.custom_attributes,
    events: rest.is_new ? [] : events,
    messages: rest.is_new ? [] : clampedMessages(drawn.messages, 0),
    later_messages: later_messages ? clampedMessages(drawn.messages, DAY_AFTER_MS) : [],
  }));

/** The totals as the fold keeps them, of the definition in docs/feeds.md. */
function totalsOf(events: readonly CountedEvent[]) {
  const sum = (value: (event: CountedEvent) => number, ...names: string[]) =>
    events.filter(({ event }) => names.includes(event)).reduce((all, event) => all + value(event), 0);
  const stake = (...names: string[]) => sum((event) => event.stake_counted, ...names);
  const total_wagered = stake('bet_placed', 'sport_bet_settled');
  const total_won = sum((event) => event.payout_counted, 'bet_placed', 'sport_bet_settled');
  const total_bonus_wagered = sum((event) => event.bonus_stake_counted, 'bet_placed', 'sport_bet_settled');
  const total_bonus_won = sum((event) => event.bonus_payout_counted, 'bet_placed', 'sport_bet_settled');
  const total_credited = stake('balance_credited');
  const total_debited = stake('balance_debited');
  const ggr = total_wagered - total_won;
  return {
    total_deposited: stake('deposit_confirmed') - stake('deposit_reversed'),
    total_withdrawn: stake('withdrawal_confirmed') - stake('withdrawal_reversed'),
    total_wagered,
    total_won,
    total_bonus_wagered,
    total_bonus_won,
    total_credited,
    total_debited,
    ggr,
    ngr: ggr - (total_bonus_wagered - total_bonus_won) - total_credited + total_debited,
    session_count: sum(() => 1, 'session_start'),
  };
}

/** Stores what was known at NOW_MS, or (`later`) what came after it. */
export async function storeAt(
  clickhouse: ClickHouse,
  project: ProjectRef,
  players: readonly PlayerOfTwoTimes[],
  time: 'now' | 'later',
): Promise<void> {
  const line = (row: Record<string, unknown>) => JSON.stringify({ ...project, ...row });
  const is_later = time === 'later';
  const rows = players
    .filter(({ is_new }) => is_later || !is_new)
    .map(({ player_id, traits, custom_attributes, events, later_events, deleted_later }) =>
      line({
        player_id,
        ...traits,
        ...totalsOf(is_later ? [...events, ...later_events] : events),
        deleted_at: is_later && deleted_later ? NOW_MS + HOUR_MS : null,
        custom_attributes,
        revision: is_later ? 2 : 1,
      }),
    );
  const events = players.flatMap(({ player_id, events: known, later_events }) =>
    (is_later ? later_events : known).map(({ occurred_ms, received_ms, ...event }) =>
      line({
        player_id,
        ...event,
        occurred_at: occurred_ms,
        received_at: received_ms,
        ingestion_id: randomUUID(),
        event_index: 0,
        revision: 1,
      }),
    ),
  );
  const messages = players.flatMap(({ player_id, messages: known, later_messages }) =>
    (is_later ? later_messages : known).map(({ channel, campaign_id, status, ...times }) =>
      line({
        player_id,
        send_id: randomUUID(),
        channel,
        campaign_id,
        status,
        ...Object.fromEntries(Object.entries(times).map(([name, ms]) => [name.replace('_ms', '_at'), ms])),
        revision: 1,
      }),
    ),
  );
  await clickhouse.insertLines('players', rows, randomUUID());
  if (events.length > 0) await clickhouse.insertLines('events', events, randomUUID());
  if (messages.length > 0) await clickhouse.insertLines('message_sends', messages, randomUUID());
}
