import { createHash } from 'node:crypto';
import { encodeAccepted, identityKey } from '../src/ingest/events/envelope.ts';
import type { EventBody } from '../src/ingest/events/validate.ts';
import type { NewRecord } from '../src/platform/event-log/port.ts';
import { newId } from '../src/platform/ids.ts';

/** A typical mix of events: mostly bets and their settlements, some deposits and sessions. */
export function mixedEvents(count: number, players: number, label: string): EventBody[] {
  const events: EventBody[] = [];
  const timestamp = '2026-03-01T20:15:00.000Z';
  for (let i = 0; events.length < count; i++) {
    const anonymous_id = `player-${(i * 7919) % players}`;
    const bet = {
      amount: 100 + (i % 900),
      currency: 'EUR',
      bet_id: `${label}-bet-${i}`,
      game_id: `game-${i % 50}`,
      game_category: 'slots',
    };
    events.push({ event: 'bet_placed', anonymous_id, timestamp, properties: bet });
    const settled = { ...bet, payout: i % 3 === 0 ? 250 : 0, outcome: i % 3 === 0 ? 'won' : 'lost' };
    events.push({ event: 'bet_settled', anonymous_id, timestamp, properties: settled });
    if (i % 5 === 0) {
      const properties = {
        amount: 5000,
        currency: 'EUR',
        transaction_id: `${label}-tx-${i}`,
        payment_method: 'card',
      };
      events.push({ event: 'deposit_confirmed', anonymous_id, timestamp, properties });
    }
    if (i % 10 === 0)
      events.push({ event: 'session_start', anonymous_id, timestamp, properties: { device: 'ios' } });
  }
  return events.slice(0, count);
}

/**
 * The same of a wallet that names its movements in every sixth bet, of which a third has bonus money: a fifth of the events are
 * movements and voids.
 */
export function feedEvents(count: number, players: number, label: string): EventBody[] {
  const events: EventBody[] = [];
  let bets = 0;
  for (const event of mixedEvents(count, players, label)) {
    const is_settled = event.event === 'bet_settled';
    const is_moved = bets % 6 === 0 && (event.event === 'bet_placed' || is_settled);
    if (is_settled) bets++;
    if (!is_moved) {
      events.push(event);
      continue;
    }
    const { payout: _, outcome: __, ...bet } = event.properties ?? {};
    const bonus = bets % 18 < 6 ? { [is_settled ? 'bonus_payout' : 'bonus_stake']: 50 } : {};
    if (!is_settled) {
      events.push({ ...event, properties: { ...bet, ...bonus, movement_id: 'stake' } });
      continue;
    }
    const { bet_id, currency } = bet;
    const won = { bet_id, currency, payout: 250, movement_id: 'win', ...bonus };
    events.push({ ...event, event: 'bet_won', properties: won });
    events.push({ ...event, event: 'bet_voided', properties: { bet_id, movement_id: 'win' } });
  }
  return events.slice(0, count);
}

/** The same with bet_ids and transaction_ids in no order, each a UUID that follows from the id before. */
export function withRandomIds(events: readonly EventBody[]): EventBody[] {
  const randomIds = ([name, value]: [string, unknown]): [string, unknown] => [
    name,
    name === 'bet_id' || name === 'transaction_id' ? randomIdOf(String(value)) : value,
  ];
  return events.map((event) => ({
    ...event,
    properties: Object.fromEntries(Object.entries(event.properties ?? {}).map(randomIds)),
  }));
}

/** A UUID that is as good as random, and the same for the same name. */
function randomIdOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The events as the log records that intake appends. */
export function acceptedRecords(
  events: readonly EventBody[],
  tenant_id: string,
  project_id: string,
): NewRecord[] {
  const received_at_ms = Date.now();
  return events.map((event) => {
    const stamp = { ingestion_id: newId(), tenant_id, project_id, environment: 'dev', received_at_ms };
    return { key: identityKey(project_id, event), value: encodeAccepted(stamp, 0, JSON.stringify(event)) };
  });
}

/** Splits into parts of `size`. */
export function chunks<T>(values: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < values.length; i += size) parts.push(values.slice(i, i + size));
  return parts;
}
