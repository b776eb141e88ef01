import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DeadLetter } from '../../src/events/envelope.ts';
import { folded, startTestService, type TestService, type TestTenant } from '../engines/embedded.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { Oracle, type ExpectedPlayer, type SentEvent } from './oracle.ts';
import { propertyParameters } from './settings.ts';
import { streamOf, toEvents, type Sender, type Step } from './streams.ts';

const PLAYERS = 250;
const EVENTS = 1_500;
const BATCH = 97;

let service: TestService;
beforeAll(async () => {
  // The oracle takes the events of all players in the order they were sent, and so must the service.
  service = await startTestService({}, (config) => openTestPlatform(config, { partitions: 1 }));
});
afterAll(() => service.close());

it('knows of every player exactly what an independent recomputation from the events says', async () => {
  await fc.assert(
    fc.asyncProperty(streamOf(PLAYERS, EVENTS, true), async (steps) => {
      const tenant = await service.newTenant();
      const oracle = new Oracle('EUR');
      const senders = newSenders();
      const letters_from = await deadLetterEnd();
      const duplicates_before = await duplicates();
      const refused: string[] = [];
      let dropped = 0;
      const sent: SentEvent[] = [];
      for (const [part, every] of [steps.slice(0, EVENTS / 2), steps.slice(EVENTS / 2)].entries()) {
        // Some are identified before their first event, some after, some never.
        for (const [i, sender] of senders.entries()) {
          if (i % 3 === part) await identifySender(tenant, sender, oracle, i);
        }
        const events = toEvents(every, senders, sent);
        await send(tenant, events);
        for (const event of events) {
          const verdict = oracle.take(event);
          if (verdict === 'duplicate') dropped++;
          else if (verdict !== 'counted') refused.push(`${verdict} ${event.event}`);
        }
        sent.push(...events);
      }
      await folded(service.platform);
      expect(await playersOf(tenant)).toEqual(shown(oracle));
      expect(await deadLettersSince(letters_from)).toEqual(refused);
      expect((await duplicates()) - duplicates_before).toBe(dropped);
    }),
    { ...propertyParameters('ORACLE_RUNS', 10), endOnFailure: true },
  );
});

it('comes to the same totals in whatever order the events arrive', async () => {
  await fc.assert(
    fc.asyncProperty(streamOf(PLAYERS, EVENTS, false), fc.nat(), async (steps, order) => {
      const inOrder = await totalsAfter(steps, (events) => events, 1);
      // Eight connections at once disturb the order further.
      const shuffled = await totalsAfter(steps, (events) => shuffle(events, order), 8);
      expect(shuffled).toEqual(inOrder);
      expect(inOrder.size).toBeGreaterThan(PLAYERS / 2);
    }),
    { ...propertyParameters('ORACLE_RUNS', 4), endOnFailure: true },
  );
});

/** The players of a new tenant after the steps, by their anonymous id. */
async function totalsAfter(
  steps: readonly Step[],
  arrange: (events: readonly SentEvent[]) => readonly SentEvent[],
  connections: number,
): Promise<Map<string, Record<string, unknown>>> {
  const tenant = await service.newTenant();
  const senders = newSenders();
  for (const [i, sender] of senders.entries()) {
    if (i % 3 === 0) await identifySender(tenant, sender, new Oracle('EUR'), i);
  }
  const events = arrange(toEvents(steps, senders));
  const share = Math.ceil(events.length / connections);
  await Promise.all(
    Array.from({ length: connections }, (_, i) => send(tenant, events.slice(i * share, (i + 1) * share))),
  );
  await folded(service.platform);
  return playersOf(tenant);
}

function newSenders(): Sender[] {
  return Array.from({ length: PLAYERS }, (_, i) => ({
    anonymous_id: `device "${i}" \\ {é,😀}`,
    player_id: undefined,
  }));
}

async function identifySender(
  tenant: TestTenant,
  sender: Sender,
  oracle: Oracle,
  index: number,
): Promise<void> {
  const { anonymous_id } = sender;
  const body = { anonymous_id, ...(index % 2 === 0 ? { external_id: `customer-${index}` } : {}) };
  const data = await post(`${service.base_url}/v1/players/identify`, tenant, body, 200);
  sender.player_id = String(data['player_id']);
  oracle.identified(anonymous_id, sender.player_id);
}

/** Sends the events in order, some alone and some in batches. */
async function send(tenant: TestTenant, events: readonly SentEvent[]): Promise<void> {
  for (let next = 0; next < events.length;) {
    const alone = next % 7 < 2;
    const part = events.slice(next, next + (alone ? 1 : BATCH));
    const url = `${service.ingest_url}/v1/events${alone ? '' : '/batch'}`;
    const data = await post(url, tenant, alone ? part[0] : { events: part }, 202);
    if (alone) expect(data['accepted']).toBe(true);
    else expect(data).toMatchObject({ accepted: part.length, rejected: [] });
    next += part.length;
  }
}

/** Posts with the tenant's API key; the answer's `data`. */
async function post(
  url: string,
  tenant: TestTenant,
  body: unknown,
  status: number,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, text).toBe(status);
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}

const COMPARED = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'ggr',
  'bet_count',
  'session_count',
  'pending_conversions',
  'status',
  'kyc_status',
  'kyc_level',
] as const satisfies readonly (keyof ExpectedPlayer)[];

/** Every player the list shows, by anonymous id; integers as text, because they may exceed what a number holds. */
async function playersOf(tenant: TestTenant): Promise<Map<string, Record<string, unknown>>> {
  const players = new Map<string, Record<string, unknown>>();
  for (let cursor: string | null = ''; cursor !== null;) {
    const url = `${service.base_url}/v1/players?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${tenant.session_token}` } });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    const exact = text.replaceAll(/(?<="[a-z_]+":)-?\d+(?=[,}])/g, '"$&"');
    const page = JSON.parse(exact) as {
      data: (Record<string, unknown> & { anonymous_ids: string[] })[];
      meta: { next_cursor: string | null };
    };
    for (const player of page.data) {
      expect(player.anonymous_ids).toHaveLength(1);
      const known = COMPARED.map((field) => [field, player[field]]);
      players.set(String(player.anonymous_ids[0]), Object.fromEntries(known) as Record<string, unknown>);
    }
    cursor = page.meta.next_cursor;
  }
  return players;
}

function shown(oracle: Oracle): Map<string, Record<string, unknown>> {
  const players = new Map<string, Record<string, unknown>>();
  for (const [name, expected] of oracle.players()) {
    if (name.startsWith('device'))
      players.set(
        name,
        Object.fromEntries(COMPARED.map((field) => [field, String(expected[field])])) as Record<
          string,
          unknown
        >,
      );
  }
  return players;
}

async function deadLetterEnd(): Promise<bigint> {
  return (await service.platform.eventLog.endOffsets('dead-letters')).get(0) ?? 0n;
}

/** Reason and event name of every dead letter from this offset on, in order. */
async function deadLettersSince(from: bigint): Promise<string[]> {
  const letters: string[] = [];
  for await (const { records } of service.platform.eventLog.read(
    'dead-letters',
    0,
    from,
    await deadLetterEnd(),
  )) {
    for (const { value } of records) {
      const letter = JSON.parse(value) as DeadLetter;
      const { event } = JSON.parse(letter.value) as { event: SentEvent };
      letters.push(`${letter.reason} ${event.event}`);
    }
  }
  return letters;
}

async function duplicates(): Promise<number> {
  const { values } = await service.platform.metrics.duplicates.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** Fisher-Yates with a linear congruential generator: the seed of the property repeats it. */
function shuffle<T>(values: readonly T[], seed: number): T[] {
  const shuffled = [...values];
  let state = seed >>> 0;
  for (let i = shuffled.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const j = state % (i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}
