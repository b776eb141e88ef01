import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import { EXPIRY_MS, wakeDeliverers } from './wake-queries.ts';
import { LONG_ATTEMPTS } from './retry-schedule.ts';

// Deliveries of one subscription about one player go out one after the other, in the order of their numbers: all but one of
// those that are pending are held. Who ends that one releases the next, in the same transaction. Who adds a delivery behind it
// locks the last one first, so that it cannot end unnoticed.

/** When held deliveries are due: never, until they are released. A date that every client reads, unlike infinity. */
export const HELD = new Date('9999-01-01T00:00:00.000Z');

/** How long an attempt to call a subscription may take. */
const TIMEOUT_MS = 10_000;

/** The deliveries of one player to one subscription. */
export interface Turn {
  tenant_id: string;
  subscription_id: string;
  player_id: string;
}

const TURN_KEY = { tenant_id: 'uuid', subscription_id: 'uuid', player_id: 'uuid' } as const;

/** An event to deliver to a subscription. */
export interface EventDelivery extends ProjectRef, Turn {
  event_id: string;
  event: string;
  /** Its number among the events of the subscription. */
  sequence: bigint;
  url: string;
  payload: string;
}

const keyOf = ({ subscription_id, player_id }: Turn) => `${subscription_id} ${player_id}`;

/** Each turn once. */
export function turnsOf(deliveries: readonly Turn[]): Turn[] {
  return [...new Map(deliveries.map((one) => [keyOf(one), one])).values()];
}

/** Host and port of the URL, and the subscription: deliveries with the same take turns as a lane. */
function laneOf({ url, subscription_id }: Pick<EventDelivery, 'url' | 'subscription_id'>): string {
  return `${URL.canParse(url) ? new URL(url).host : ''}/${subscription_id}`;
}

/**
 * Writes events to deliver, in the order of their numbers; one that is written already stays as it is. The caller has
 * locked the subscriptions, so that nobody else adds to them.
 */
export async function insertEventDeliveries(
  tx: Tx,
  rows: readonly EventDelivery[],
  now: Date,
): Promise<void> {
  if (rows.length === 0) return;
  const waiting = await lockLast(tx, turnsOf(rows));
  const due = rows.map((row) => {
    const key = keyOf(row);
    const is_held = waiting.has(key);
    waiting.add(key);
    return { ...row, host: laneOf(row), next_at: is_held ? HELD : now };
  });
  const { count } = await tx`
    insert into webhook_deliveries (tenant_id, project_id, event_id, subscription_id, sequence, event, player_id, url, host,
      headers, timeout_ms, max_attempts, wait_for_response, payload, status, next_at, created_at, expires_at)
    select r.tenant_id, r.project_id, r.event_id, r.subscription_id, r.sequence, r.event, r.player_id, r.url, r.host,
      '{}', ${TIMEOUT_MS}, ${LONG_ATTEMPTS}, false, r.payload, 'pending', r.next_at, ${now},
      ${new Date(now.getTime() + EXPIRY_MS)}
    from ${rowsOf(tx, 'r', due, {
      ...PROJECT_KEY,
      event_id: 'uuid',
      subscription_id: 'uuid',
      sequence: 'bigint',
      event: 'text',
      player_id: 'uuid',
      url: 'text',
      host: 'text',
      payload: 'text',
      next_at: 'timestamptz',
    })}
    on conflict (tenant_id, event_id) do nothing`;
  // Others may be held behind one that was not written.
  if (count < rows.length) await releaseNext(tx, rows, now);
  await wakeDeliverers(tx);
}

/**
 * Locks the last pending delivery of each turn that has one, until the transaction ends, and returns the keys of these turns. In
 * the order of the ids, as those who write results lock them.
 */
export async function lockLast(tx: Tx, turns: readonly Turn[]): Promise<Set<string>> {
  const locked = new Set<string>();
  for (let open = turns; open.length > 0;) {
    const last = await tx<(Turn & { event_id: string })[]>`
      select k.tenant_id, k.subscription_id, k.player_id, o.event_id from ${rowsOf(tx, 'k', open, TURN_KEY)}
      cross join lateral (
        select o.event_id from webhook_deliveries o
        where o.subscription_id = k.subscription_id and o.player_id = k.player_id and o.tenant_id = k.tenant_id
          and o.status = 'pending'
        order by o.next_at desc, o.sequence desc limit 1) o`;
    if (last.length === 0) break;
    last.sort((one, other) => (one.event_id < other.event_id ? -1 : 1));
    const held = await tx<{ event_id: string }[]>`
      select o.event_id from ${rowsOf(tx, 'k', last, { tenant_id: 'uuid', event_id: 'uuid' })}
      cross join lateral (
        select o.event_id from webhook_deliveries o
        where o.tenant_id = k.tenant_id and o.event_id = k.event_id and o.status = 'pending' for share) o`;
    const still = new Set(held.map(({ event_id }) => event_id));
    for (const one of last) if (still.has(one.event_id)) locked.add(keyOf(one));
    // One that has ended meanwhile was not the last any more.
    open = last.filter(({ event_id }) => !still.has(event_id));
  }
  return locked;
}

/** Lets the next delivery of each turn be attempted, unless one of it is under way or waits for its next attempt. */
export async function releaseNext(tx: Tx, turns: readonly Turn[], now: Date): Promise<void> {
  if (turns.length === 0) return;
  await tx`
    update webhook_deliveries d set next_at = ${now}
    from ${rowsOf(tx, 'k', turnsOf(turns), TURN_KEY)}
    cross join lateral (
      select o.ctid from webhook_deliveries o
      where o.subscription_id = k.subscription_id and o.player_id = k.player_id and o.tenant_id = k.tenant_id
        and o.status = 'pending' and o.next_at = ${HELD}
        and not exists (
          select from webhook_deliveries a
          where a.subscription_id = k.subscription_id and a.player_id = k.player_id and a.tenant_id = k.tenant_id
            and a.status = 'pending' and a.next_at < ${HELD})
      order by o.sequence limit 1 offset 0) f
    where d.ctid = f.ctid`;
}
