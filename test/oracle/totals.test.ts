import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DeadLetter } from '../../src/ingest/events/envelope.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { FrontDoor, newSenders, shown, shuffle, type ShownPlayers } from './front-door.ts';
import { Oracle, type SentEvent } from './oracle.ts';
import { runs } from '../engines/effort.ts';
import { streamOf, toEvents, type Sender, type Step } from './streams.ts';

const PLAYERS = 250;
const EVENTS = 1_500;
/** The first senders change their status, which a merge decides by rules of its own. Every sixth has an external_id. */
const MERGED_FROM = 12;
const MERGED_EVERY = 30;
const STREAMS = runs(6, { nightly: 30 });
const ORDERS = runs(3, { nightly: 6 });
const TIMEOUT_MS = 120_000 + STREAMS * 20_000;

let service: TestService;
beforeAll(async () => {
  // One partition: the oracle takes the events of all players in sending order, so the service has to do the same.
  service = await startTestService({}, (config) => openTestPlatform(config, { partitions: 1 }));
});
afterAll(() => service.close());

it(
  'shows for every player exactly the result of an independent recomputation',
  async () => {
    await fc.assert(
      fc.asyncProperty(streamOf(PLAYERS, EVENTS, true), async (steps) => {
        const door = await FrontDoor.open(service, await service.newTenant());
        const oracle = new Oracle('EUR');
        const senders = newSenders(PLAYERS);
        const letters_from = await deadLetterEnd();
        const duplicates_before = await counted('duplicates');
        const differing_before = await counted('duplicatesDiffering');
        const refused: string[] = [];
        let dropped = 0;
        let with_other_details = 0;
        const sent: SentEvent[] = [];
        for (const [part, every] of [steps.slice(0, EVENTS / 2), steps.slice(EVENTS / 2)].entries()) {
          // Some senders are identified before their first event, some after it, some never.
          for (const [i, sender] of senders.entries()) {
            if (i % 3 === part) await door.identify(sender, oracle, i);
          }
          if (part === 1) await mergeSome(door, senders, oracle);
          const events = toEvents(every, senders, sent);
          await door.send(events);
          for (const event of events) {
            const verdict = oracle.take(event);
            if (verdict === 'DUPLICATE_DIFFERS') with_other_details++;
            if (verdict === 'duplicate' || verdict === 'DUPLICATE_DIFFERS') dropped++;
            else if (verdict !== 'counted') refused.push(`${verdict} ${event.event}`);
          }
          sent.push(...events);
        }
        await folded(service.platform);
        expect(await door.players()).toEqual(shown(oracle));
        const letters = await deadLettersSince(letters_from);
        const isDiffering = (letter: string) => letter.startsWith('DUPLICATE_DIFFERS ');
        expect(letters.filter((letter) => !isDiffering(letter))).toEqual(refused);
        expect((await counted('duplicates')) - duplicates_before).toBe(dropped);
        // Of those with another time, game or the like at most 100 have a letter.
        const differing = (await counted('duplicatesDiffering')) - differing_before;
        expect(letters.filter(isDiffering)).toHaveLength(Math.min(100, differing));
        expect(differing).toBe(with_other_details);
        expect(differing).toBeGreaterThan(0);
      }),
      { numRuns: STREAMS, endOnFailure: true },
    );
  },
  TIMEOUT_MS,
);

it(
  'has the same totals in whatever order the events arrive',
  async () => {
    await fc.assert(
      fc.asyncProperty(streamOf(PLAYERS, EVENTS, false), fc.nat(), async (steps, order) => {
        const inOrder = await totalsAfter(steps, (events) => events, 1);
        // Eight connections at once change the order further.
        const shuffled = await totalsAfter(steps, (events) => shuffle(events, order), 8);
        expect(shuffled).toEqual(inOrder);
        expect(inOrder.size).toBeGreaterThan(PLAYERS / 2);
      }),
      { numRuns: ORDERS, endOnFailure: true },
    );
  },
  TIMEOUT_MS,
);

/** Makes some senders one player: one with an external_id and a later one without, once all their events are folded. */
async function mergeSome(door: FrontDoor, senders: readonly Sender[], oracle: Oracle): Promise<void> {
  await folded(service.platform);
  for (let i = MERGED_FROM; i < PLAYERS - 3; i += MERGED_EVERY) {
    const [one, other] = [senders[i] as Sender, senders[i + 3] as Sender];
    await door.merge([one, i], other, oracle);
  }
}

/** The players of a new tenant after the steps. */
async function totalsAfter(
  steps: readonly Step[],
  arrange: (events: readonly SentEvent[]) => readonly SentEvent[],
  connections: number,
): Promise<ShownPlayers> {
  const door = await FrontDoor.open(service, await service.newTenant());
  const senders = newSenders(PLAYERS);
  for (const [i, sender] of senders.entries()) {
    if (i % 3 === 0) await door.identify(sender, new Oracle('EUR'), i);
  }
  await door.sendOver(connections, arrange(toEvents(steps, senders)));
  await folded(service.platform);
  return door.players();
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

async function counted(metric: 'duplicates' | 'duplicatesDiffering'): Promise<number> {
  const { values } = await service.platform.metrics[metric].get();
  return values.reduce((sum, { value }) => sum + value, 0);
}
