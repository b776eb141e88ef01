import { expect, it } from 'vitest';
import { CallQueue, type Waiting } from '../../src/platform/call-queue/call-queue.ts';
import type { LaneVerdict } from '../../src/platform/call-queue/lanes.ts';

interface Lane {
  host: string;
}

/** A queue whose lanes rest for 30 s after two silent calls; tests move its clock, and say what waits and how calls end. */
function queueOf(waiting: Waiting<Lane>[]) {
  const state = {
    now_ms: 1_000_000,
    freed: 0,
    ends: [] as ((verdict: LaneVerdict) => void)[],
    looking: () => Promise.resolve(),
  };
  const queue = new CallQueue<Lane, Lane>(
    { now_ms: () => state.now_ms },
    {
      keyOf: ({ host }) => host,
      sharesOf: () => [],
      rest: { failures: 2, rest_ms: 30_000 },
      find: () => state.looking().then(() => waiting),
      async *claim(lanes) {
        yield lanes.flatMap(({ host, places }) =>
          Array.from({ length: Math.min(places, 2) }, () => ({ host })),
        );
      },
      call: () => new Promise((resolve) => state.ends.push(resolve)),
    },
    () => void state.freed++,
  );
  /** Ends all calls; resolves when that is known. */
  async function end(verdict: LaneVerdict) {
    for (const one of state.ends.splice(0)) one(verdict);
    await queue.close();
  }
  return { queue, state, end };
}

const at = (ms: number) => new Date(1_000_000 + ms);
const bad = { host: 'bad', next_at: at(0) };

it('the queue rests with the only lanes that are due', async () => {
  const waiting: Waiting<Lane>[] = [bad];
  const { queue, state, end } = queueOf(waiting);
  expect(await queue.turn()).toBe(true);
  await end('silent');
  expect(state.freed).toBe(0);
  state.now_ms += 1;
  expect(await queue.turn()).toEqual({ rest_ms: 29_999 });
  // The call of another lane comes due before.
  waiting.push({ host: 'other', next_at: at(5_000) });
  expect(await queue.turn()).toEqual({ rest_ms: 4_999 });
  waiting.pop();
  // After the rest one call tries the lane; the queue rests until that ends, or for 30 s.
  state.now_ms += 30_000;
  expect(await queue.turn()).toBe(true);
  expect(await queue.turn()).toEqual({ rest_ms: 30_000 });
  await end('answered');
  expect(state.freed).toBe(1);
  expect(await queue.turn()).toBe(true);
  await end('answered');
});

it('the queue does not rest while a lane is due that has no place, or after a call that ended during the look', async () => {
  const busy = { host: 'busy', next_at: at(0), most: 2 };
  const waiting: Waiting<Lane>[] = [bad];
  const { queue, state, end } = queueOf(waiting);
  await queue.turn();
  await end('silent');
  waiting.push(busy);
  expect(await queue.turn()).toBe(true);
  expect(await queue.turn()).toBe(false);
  waiting.pop();
  state.looking = () => end('answered');
  expect(await queue.turn()).toBe(false);
  expect(await queue.turn()).toEqual({ rest_ms: 30_000 });
});
