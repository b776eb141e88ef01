import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../engines/effort.ts';
import { ModelServer, SharedStore, Tab, World, type Behaviour } from './sending-world.ts';

// The senders of clients/js against a service that fails in every way, with pages that are killed at any time.

const HOUR_MS = 3_600_000;

/** Whether each event that was kept is there once, and those of a player in their order. */
function expectOnce(server: ModelServer, kept: readonly { id: string; player: string }[]): void {
  const there = server.events.map(({ id }) => id);
  expect(new Set(there).size, 'doubled').toBe(there.length);
  expect(
    kept.filter(({ id }) => !there.includes(id)),
    'lost',
  ).toEqual([]);
  for (const player of new Set(kept.map((one) => one.player))) {
    const inOrder = (list: readonly { id: string; player: string }[]) =>
      list.filter((one) => one.player === player).map(({ id }) => id);
    const wanted = inOrder(kept);
    expect(inOrder(server.events).filter((id) => wanted.includes(id))).toEqual(wanted);
  }
}

const behaviour = fc.constantFrom<Behaviour>('take', 'cut', 'unreachable', 429, 503, 500);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('track' as const), count: fc.integer({ min: 1, max: 130 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('kill' as const), tab: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('offline' as const), is_offline: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), next: fc.array(behaviour, { maxLength: 6 }) }),
  },
);

it('loses nothing, doubles nothing and keeps the order of a player, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.constantFrom(2_000, 20_000, Number.POSITIVE_INFINITY),
      async (steps, body_bytes) => {
        const world = new World();
        const server = new ModelServer();
        server.body_bytes = body_bytes;
        const store = new SharedStore();
        const tabs = [new Tab(world, server, store), new Tab(world, server, store)];
        const kept: { id: string; player: string }[] = [];
        let n = 0;
        for (const one of steps) {
          if (one.kind === 'track') {
            for (let i = 0; i < one.count && store.entries.length < 900; i++) {
              const event = { id: `e${n}`, player: `p${n++ % 3}` };
              const content = { event: 'custom_a', anonymous_id: event.player, properties: { id: event.id } };
              void tabs[i % 2]?.sender.add('event', content).then(() => kept.push(event));
              // The same page, in its order; another page waits for no one.
              await world.pass(0);
            }
          } else if (one.kind === 'pass') await world.pass(one.ms);
          else if (one.kind === 'offline') server.is_offline = one.is_offline;
          else if (one.kind === 'fail') server.next.push(...one.next);
          else {
            tabs[one.tab]?.kill();
            tabs[one.tab] = new Tab(world, server, store);
            void tabs[one.tab]?.sender.flush();
          }
        }
        server.is_offline = false;
        await world.pass(HOUR_MS);
        expect(store.entries).toEqual([]);
        expectOnce(server, kept);
      },
    ),
    { numRuns: runs(60, { quick: 30, nightly: 2_000 }) },
  );
});

it('8 hours offline, with a tab killed 100 times: nothing is lost or doubled', async () => {
  const world = new World();
  const server = new ModelServer();
  const store = new SharedStore();
  const kept: { id: string; player: string }[] = [];
  let tab = new Tab(world, server, store);
  server.is_offline = true;
  for (let i = 0; i < 900; i++) {
    const event = { id: `e${i}`, player: 'p' };
    const content = { event: 'page_view', anonymous_id: 'p', properties: { id: event.id } };
    void tab.sender.add('event', content).then(() => kept.push(event));
    await world.pass((8 * HOUR_MS) / 900);
    if (i % 10 === 0) {
      tab.kill();
      tab = new Tab(world, server, store);
      void tab.sender.flush();
    }
  }
  expect(kept.length).toBe(900);
  expect(server.events).toEqual([]);
  server.is_offline = false;
  // The last ten die while they send.
  for (let i = 0; i < 10; i++) {
    void tab.sender.flush();
    server.next.push('cut');
    await world.pass(i % 2 === 0 ? 50 : 25);
    tab.kill();
    tab = new Tab(world, server, store);
  }
  void tab.sender.flush();
  await world.pass(HOUR_MS);
  expect(store.entries).toEqual([]);
  expectOnce(server, kept);
  expect(server.events.length).toBe(900);
});
