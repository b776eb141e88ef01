import { createHmac } from 'node:crypto';
import type { GivenEvent, Task } from './driver.ts';

/** Sums of a player, in cents and in events. */
export interface Totals {
  total_deposited: number;
  total_wagered: number;
  bet_count: number;
  session_count: number;
}

/** What the read side must have of a player. */
export interface ExpectedPlayer {
  /** The ids by which it is found. */
  ids: { external_id: string } | { anonymous_id: string };
  /** Numbers and names of its events, in the order in which the client got them. */
  events: { n: number; event: string }[];
  totals: Totals;
  /** The number of its last identify, which is an attribute of the player; undefined: there was none. */
  last_identify: number | undefined;
}

/** The events of a run and what must follow from them. */
export interface Plan {
  sequences: Task['sequences'];
  players: ExpectedPlayer[];
  /** All events, also those that make no row: identify and alias. */
  given: number;
}

/** A name that the project's configuration maps to the event of the catalogue. */
export const DEPOSIT_NAME = 'deposit_confirmed';
export const DEPOSIT_EVENT = 'deposit_confirmed';

/** So many that no player has two identify calls in one: of one millisecond, neither would be the last. */
const SEQUENCE = 64;
const USERS = 8;
const VISITORS = 2;
const PERSONS = 4;
class PlannedPlayer implements ExpectedPlayer {
  events: ExpectedPlayer['events'] = [];
  totals: Totals = { total_deposited: 0, total_wagered: 0, bet_count: 0, session_count: 0 };
  last_identify: number | undefined;
  ids: ExpectedPlayer['ids'];

  constructor(ids: ExpectedPlayer['ids']) {
    this.ids = ids;
  }

  /** Who sends an event: its external_id if it has one. */
  get sender(): Pick<GivenEvent, 'userId' | 'anonymousId'> {
    return 'external_id' in this.ids
      ? { userId: this.ids.external_id }
      : { anonymousId: this.ids.anonymous_id };
  }
}

/**
 * What a backend sends of several players in turn: `count` events of all types, some of visitors who are not known. One
 * visitor becomes a player by alias, with the events that it had sent. A pause lies after each {@link SEQUENCE} events.
 */
export function serverPlan(count: number, pause_ms: number): Plan {
  const users = Array.from({ length: USERS }, (_, i) => new PlannedPlayer({ external_id: `player-${i}` }));
  const visitors = Array.from(
    { length: VISITORS },
    (_, i) => new PlannedPlayer({ anonymous_id: `visitor-${i}` }),
  );
  const [newcomer] = users as [PlannedPlayer];
  const events: GivenEvent[] = [];
  for (let n = 0; n < count; n++) {
    const user = users[n % USERS] as PlannedPlayer;
    const kind = Math.floor(n / USERS) % 8;
    if (n === Math.floor(count / 2)) {
      events.push({ type: 'alias', userId: 'player-0', previousId: 'newcomer' });
    } else if (kind === 6 && user === newcomer) {
      // Before and after its alias: both are the same player's.
      events.push({ ...numbered(user, n, kind), anonymousId: 'newcomer' });
    } else if (kind === 7) {
      const visitor = visitors[n % VISITORS] as PlannedPlayer;
      events.push({ ...numbered(visitor, n, 6), ...visitor.sender });
    } else {
      events.push({ ...numbered(user, n, kind), ...user.sender });
    }
  }
  return planOf(events, [...users, ...visitors], pause_ms);
}

/**
 * What a page sends of several persons in turn: first as visitors, then signed in. `client_secret` proves who they are. All
 * events are among those that a client key may send.
 */
export function pagePlan(count: number, pause_ms: number, client_secret: string): Plan {
  const ids = Array.from({ length: PERSONS }, (_, i) => `player-${i}`);
  const persons = ids.map((external_id) => ({
    player: new PlannedPlayer({ external_id }),
    anonymousId: `visitor-${external_id}`,
    user_hash: createHmac('sha256', client_secret).update(external_id).digest('hex'),
    external_id,
  }));
  const events: GivenEvent[] = [];
  for (let n = 0; n < count; n++) {
    const { player, anonymousId, user_hash, external_id } = persons[n % PERSONS] as (typeof persons)[0];
    const place = Math.floor(n / PERSONS);
    const is_signed_in = place >= 3;
    // Neither deposits nor bets.
    const turn = place - 3;
    const kind = is_signed_in ? (turn % 16 === 0 ? 0 : ([1, 2, 5, 6][turn % 4] ?? 6)) : 6;
    const sender = is_signed_in ? { userId: external_id } : {};
    events.push({ ...numbered(player, n, kind), ...sender, anonymousId, context: { user_hash } });
  }
  return planOf(
    events,
    persons.map(({ player }) => player),
    pause_ms,
  );
}

/** The event of a number, and what follows from it for the player. */
function numbered(player: PlannedPlayer, n: number, kind: number): GivenEvent {
  const { events, totals } = player;
  const add = (event: string) => events.push({ n, event });
  switch (kind) {
    case 0:
      player.last_identify = n;
      return { type: 'identify', traits: { n } };
    case 1:
      add('page_view');
      return { type: 'page', name: 'Lobby', properties: { n } };
    case 2:
      add('page_view');
      return { type: 'screen', name: 'Lobby', properties: { n } };
    case 3:
      add(DEPOSIT_EVENT);
      totals.total_deposited += 100 + n;
      return {
        type: 'track',
        event: DEPOSIT_NAME,
        properties: { n, amount: 100 + n, currency: 'EUR', transaction_id: `t-${n}`, payment_method: 'card' },
      };
    case 4:
      add('bet_placed');
      totals.total_wagered += 10 + n;
      totals.bet_count += 1;
      return {
        type: 'track',
        event: 'bet_placed',
        properties: {
          n,
          amount: 10 + n,
          currency: 'EUR',
          bet_id: `b-${n}`,
          game_id: 'g-1',
          game_category: 'slots',
        },
      };
    case 5:
      add('session_start');
      totals.session_count += 1;
      return { type: 'track', event: 'session_start', properties: { n } };
    default:
      if (n % 3 === 0) {
        add('custom_group');
        return { type: 'group', groupId: 'vip', traits: { n } };
      }
      add('custom_game_opened');
      return { type: 'track', event: 'Game Opened', properties: { n } };
  }
}

function planOf(events: readonly GivenEvent[], players: ExpectedPlayer[], pause_ms: number): Plan {
  const sequences: Task['sequences'] = [];
  for (let start = 0; start < events.length; start += SEQUENCE) {
    sequences.push({ delayMs: start === 0 ? 0 : pause_ms, events: events.slice(start, start + SEQUENCE) });
  }
  return { sequences, players, given: events.length };
}
