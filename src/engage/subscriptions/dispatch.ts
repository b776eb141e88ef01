import { groupBy } from '../../platform/group-by.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { insertEventDeliveries, type EventDelivery } from '../webhooks/turn-queries.ts';
import { boundQueue, LIMITS, type QueueLimits } from './bound.ts';
import {
  deleteFacts,
  lockFacts,
  lockSubscriptions,
  noteBreakEnds,
  selectFactPlayers,
  selectFacts,
  selectMembers,
  type FactPlayer,
  type Member,
} from './dispatch-queries.ts';
import { eventIdOf, isWanted, payloadOf, TEST_EVENT, type Fact } from './events.ts';
import { updateSequence, type SubscriptionRow } from './queries.ts';

/** Facts that one transaction reads, and events that it queues; one fact may have more. */
const MAX_FACTS = 500;
const MAX_EVENTS = 2_000;
/** Breaks that one statement looks at. */
const MAX_BREAKS = 1_000;

type Deps = Pick<Platform, 'postgres' | 'clock'>;

/**
 * Queues the oldest facts of a tenant for its subscriptions, in one transaction that also removes the facts: each becomes one
 * event of each subscription that asks for it, for each of its players, and no crash loses or doubles one. Events of a player
 * have the order of their facts. Nothing is queued about deleted and erased players, nor that a player who was merged
 * away has left a segment of the survivor. False: there were no facts, or another process has them.
 */
export async function queueFacts(
  deps: Deps,
  tenant_id: string,
  limits: QueueLimits = LIMITS,
): Promise<boolean> {
  const { postgres, clock } = deps;
  const queued = await retryConflicts(() =>
    postgres.service.begin((tx) => queue(tx, tenant_id, new Date(clock.now_ms()))),
  );
  if (queued === undefined) return false;
  for (const subscription of queued) await boundQueue(deps, subscription, limits);
  return true;
}

/** The subscriptions that have more events now; undefined: nothing was done. */
async function queue(tx: Tx, tenant_id: string, now: Date): Promise<SubscriptionRow[] | undefined> {
  if (!(await lockFacts(tx, tenant_id))) return undefined;
  const found = await selectFacts(tx, tenant_id, MAX_FACTS);
  if (found.length === 0) return undefined;
  const projects = [...new Map(found.map((fact) => [fact.project_id, fact])).values()];
  const subscriptions = groupBy(await lockSubscriptions(tx, projects), ({ project_id }) => project_id);
  const taken: { fact: Fact; wanting: SubscriptionRow[] }[] = [];
  let events = 0;
  for (const fact of found) {
    const wanting = (subscriptions.get(fact.project_id) ?? []).filter((one) => isWanted(one, fact));
    events += wanting.length * fact.player_ids.length;
    if (events > MAX_EVENTS && taken.length > 0) break;
    taken.push({ fact, wanting });
  }
  const wanted = taken.filter(({ wanting }) => wanting.length > 0);
  const players = await playersOf(tx, wanted);
  const isIn = await survivorsIn(tx, wanted, players);
  const last = new Map<SubscriptionRow, bigint>();
  const deliveries = wanted.flatMap(({ fact, wanting }) =>
    fact.player_ids.flatMap((player_id) => {
      const player = players.get(playerKeyOf({ ...fact, player_id }));
      if (player === undefined || player.is_gone || isIn(fact, player)) return [];
      return wanting.map((subscription) => {
        const sequence = (last.get(subscription) ?? subscription.last_sequence) + 1n;
        last.set(subscription, sequence);
        return deliveryOf(subscription, fact, { ...player, player_id }, sequence);
      });
    }),
  );
  await insertEventDeliveries(tx, deliveries, now);
  for (const [subscription, sequence] of last) await updateSequence(tx, subscription, sequence);
  await deleteFacts(
    tx,
    taken.map(({ fact }) => fact),
  );
  return [...last.keys()];
}

function playerKeyOf({ project_id, player_id }: Pick<PlayerRef, 'project_id' | 'player_id'>): string {
  return `${project_id} ${player_id}`;
}

/** The players of the facts, by {@link playerKeyOf}. */
async function playersOf(tx: Tx, wanted: readonly { fact: Fact }[]): Promise<Map<string, FactPlayer>> {
  const asked = wanted.flatMap(({ fact: { tenant_id, project_id, player_ids } }) =>
    player_ids.map((player_id) => ({ tenant_id, project_id, player_id })),
  );
  const distinct = [...new Map(asked.map((one) => [playerKeyOf(one), one])).values()];
  if (distinct.length === 0) return new Map();
  return new Map((await selectFactPlayers(tx, distinct)).map((one) => [playerKeyOf(one), one]));
}

/**
 * Whether a player that was merged away has left a segment that the survivor is in: the event would name the survivor, who has not
 * left it.
 */
async function survivorsIn(
  tx: Tx,
  wanted: readonly { fact: Fact }[],
  players: ReadonlyMap<string, FactPlayer>,
): Promise<(fact: Fact, player: FactPlayer) => boolean> {
  const memberOf = ({ tenant_id, project_id, data }: Fact, { now_player_id }: FactPlayer) => ({
    tenant_id,
    project_id,
    player_id: now_player_id,
    segment_id: String(data['segment_id']),
  });
  const hasLeft = ({ event }: Fact, { player_id, now_player_id }: FactPlayer) =>
    event === 'segment.left' && player_id !== now_player_id;
  const asked = wanted.flatMap(({ fact }) =>
    fact.player_ids.flatMap((player_id) => {
      const player = players.get(playerKeyOf({ ...fact, player_id }));
      return player !== undefined && hasLeft(fact, player) ? [memberOf(fact, player)] : [];
    }),
  );
  const keyOf = ({ segment_id, player_id }: Member) => `${segment_id} ${player_id}`;
  const members = new Set((await selectMembers(tx, asked)).map(keyOf));
  return (fact, player) => hasLeft(fact, player) && members.has(keyOf(memberOf(fact, player)));
}

function deliveryOf(
  { tenant_id, project_id, subscription_id, url }: SubscriptionRow,
  fact: Fact,
  { player_id, now_player_id, external_id }: FactPlayer,
  sequence: bigint,
): EventDelivery {
  const event_id = eventIdOf(subscription_id, fact, player_id);
  const { event, occurred_at, data } = fact;
  const of_subscription = { tenant_id, project_id, subscription_id, event_id, event, sequence };
  const player = { id: now_player_id, external_id };
  const payload = payloadOf({ ...of_subscription, occurred_at, player, data });
  return { ...of_subscription, player_id: now_player_id, url, payload };
}

/** Queues a test event for a locked subscription; it is about no player. */
export async function queueTest(
  tx: Tx,
  { tenant_id, project_id, subscription_id, url, last_sequence }: SubscriptionRow,
  event_id: string,
  now: Date,
): Promise<bigint> {
  const sequence = last_sequence + 1n;
  const test = { tenant_id, project_id, subscription_id, event_id, event: TEST_EVENT, sequence };
  const payload = payloadOf({ ...test, occurred_at: now, player: null, data: {} });
  await insertEventDeliveries(tx, [{ ...test, player_id: NIL_ID, url, payload }], now);
  await updateSequence(tx, test, sequence);
  return sequence;
}

/** Notes breaks that are over; returns whether there may be more. */
export async function noteEnds({ postgres, clock }: Deps): Promise<boolean> {
  return (await noteBreakEnds(postgres.service, new Date(clock.now_ms()), MAX_BREAKS)) === MAX_BREAKS;
}
