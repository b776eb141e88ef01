import { expect, it, vi } from 'vitest';
import { RoundRobin, type RoundRobinOptions } from '../../src/platform/round-robin.ts';
import { until } from '../engines/until.ts';

/** `a1` is an item of the tenant `a`; `a1x` one of its project `a1`. */
function queueOf(max_running: readonly number[], options: Partial<RoundRobinOptions<string>> = {}) {
  const keysOf = (item: string) => max_running.slice(1).map((_, i, { length }) => keyOf(item, i, length));
  return new RoundRobin<string>({ keysOf, max_running, onFailure: () => undefined, ...options });
}

const keyOf = (item: string, level: number, levels: number) =>
  level === levels - 1 ? item : item.slice(0, level + 1);

/** Serves items until `end` is called for them. */
function held(queue: RoundRobin<string>) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const serve = (item: string) => {
    begun.push(item);
    return new Promise<boolean>((resolve) => ends.set(item, () => resolve(true)));
  };
  return {
    begun,
    /** What begins now. */
    offer: (items: readonly string[]) => {
      const from = begun.length;
      void queue.offer(items, serve);
      return begun.slice(from);
    },
    /** What begins once this one has ended. */
    end: async (item: string) => {
      const from = begun.length;
      ends.get(item)?.();
      await queue.next();
      return begun.slice(from);
    },
  };
}

it('begins several items at once, each once, and those first that began longest ago', async () => {
  const queue = queueOf([2, 1]);
  const { offer, end } = held(queue);
  const all = ['busy', 'slow', 'late', 'last'];
  expect(offer(all)).toEqual(['busy', 'slow']);
  expect(offer(all)).toEqual([]);
  expect(queue.isFull).toBe(true);
  expect(await end('busy')).toEqual(['late']);
  offer(all);
  expect(await end('late')).toEqual(['last']);
  offer(all);
  expect(await end('last')).toEqual(['busy']);
});

it('an item that waits for its own end begins again after it, and others of the same list once', async () => {
  const queue = queueOf([4, 1]);
  const { offer, end } = held(queue);
  expect(offer(['a', 'b'])).toEqual(['a', 'b']);
  expect(offer(['a'])).toEqual([]);
  expect(await end('a')).toEqual(['a']);
  expect(await end('b')).toEqual([]);
});

it('tenants take turns, and so do the items of each', async () => {
  const queue = queueOf([8, 4, 1]);
  const { begun, offer, end } = held(queue);
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b6', 'b7', 'c8'];
  // A fifth item of a tenant has no place, although there is one.
  expect(offer(all)).toEqual(['a1', 'b6', 'c8', 'a2', 'b7', 'a3', 'a4']);
  offer([]);
  for (const item of begun.slice()) await end(item);
  expect(offer(all)).toEqual(['c8', 'b6', 'a5', 'b7', 'a1', 'a2', 'a3']);
});

it('a project has two places, and a tenant with many projects leaves places to others', () => {
  const { offer } = held(queueOf([8, 4, 2, 1]));
  expect(offer(['a1v', 'a1w', 'a1x', 'b2x'])).toEqual(['a1v', 'b2x', 'a1w']);
  const other = held(queueOf([8, 4, 2, 1]));
  expect(other.offer(Array.from({ length: 9 }, (_, i) => `a${i}x`))).toEqual(['a0x', 'a1x', 'a2x', 'a3x']);
});

/** Offers all that always have work, and ends what runs the longest, step by step; how often each was begun. */
async function afterSteps(steps: number, max_running: readonly number[], all: readonly string[]) {
  const { begun, offer, end } = held(queueOf(max_running));
  offer(all);
  for (let step = 0; step < steps; step++) {
    await end(begun[step] ?? '');
    offer(all);
  }
  return begun.slice(0, steps);
}

it('an item is served although many before it always have work', async () => {
  const all = Array.from({ length: 41 }, (_, i) => String.fromCodePoint(0x100 + i));
  const ended = await afterSteps(2 * 41, [8, 4, 2, 1], all);
  expect(all.map((item) => ended.filter((one) => one === item).length)).toEqual(all.map(() => 2));
});

it('an item is served although many of its own project always have work', async () => {
  const of_project = Array.from({ length: 30 }, (_, i) => `a1${String.fromCodePoint(0x100 + i)}`);
  const ended = await afterSteps(120, [8, 4, 2, 1], [...of_project, 'b2x']);
  expect(new Set(ended)).toEqual(new Set([...of_project, 'b2x']));
});

it('leaves an item that failed alone for a while, and serves the others', async () => {
  const failures: unknown[] = [];
  const worked: boolean[] = [];
  const queue = queueOf([4, 1], {
    onFailure: (item, error) => failures.push([item, error]),
    onEnd: (has_worked) => worked.push(has_worked),
  });
  const served: string[] = [];
  const offer = (items: readonly string[]) =>
    queue.offer(items, (item) => {
      served.push(item);
      return item === 'bad' ? Promise.reject(new Error('no such luck')) : Promise.resolve(true);
    });
  await offer(['bad', 'good']);
  expect(new Set(worked)).toEqual(new Set([false, true]));
  expect(failures).toEqual([['bad', new Error('no such luck')]]);
  await offer(['bad', 'good']);
  expect(served).toEqual(['bad', 'good', 'good']);
  await until(() => {
    void offer(['bad']);
    return served.length === 4;
  });
  await queue.close();
});

it('serves every item of a list once, and begins nothing after it was closed', async () => {
  const queue = queueOf([2, 1]);
  const served: string[] = [];
  const all = ['a', 'b', 'c', 'd', 'e'];
  const serve = (item: string) => {
    served.push(item);
    return Promise.resolve(false);
  };
  await queue.offer(all, serve);
  expect(served.sort()).toEqual(all);
  void queue.offer(all, serve);
  await queue.close();
  expect(served).toHaveLength(7);
});

it('an offer resolves when its items have ended, and waits for none of an earlier one', async () => {
  const queue = queueOf([4, 1]);
  const { offer } = held(queue);
  expect(offer(['slow'])).toEqual(['slow']);
  const served: string[] = [];
  await queue.offer(['slow', 'quick'], (item) => {
    served.push(item);
    return Promise.resolve(true);
  });
  expect(served).toEqual(['quick']);
  expect(queue.running).toBe(1);
});

/** The pauses before each of some beginnings, in whole seconds, of an item that ends as `serve` says. */
async function pauses_s(options: Partial<RoundRobinOptions<string>>, serve: () => Promise<boolean>) {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const queue = queueOf([1, 1], options);
    let served = 0;
    const found: number[] = [];
    for (let n = 1; n <= 9; n++) {
      let pause_s = 0;
      const begins = () => {
        void queue.offer(['one'], () => {
          served += 1;
          return serve();
        });
        return served === n;
      };
      for (; !begins(); pause_s++) vi.advanceTimersByTime(1_000);
      found.push(pause_s);
      await queue.close();
    }
    return found;
  } finally {
    vi.useRealTimers();
  }
}

it('an item that fails each time pauses for 1 s, then twice as long, up to a minute', async () => {
  const found = await pauses_s({}, () => Promise.reject(new Error('no such luck')));
  expect(found).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
});

it('an item without work has pauses of its own, or none', async () => {
  const idle = () => Promise.resolve(false);
  expect(await pauses_s({}, idle)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const idle_pauses = { first_ms: 2_000, longest_ms: 4_000 };
  expect(await pauses_s({ idle_pauses }, idle)).toEqual([0, 2, 4, 4, 4, 4, 4, 4, 4]);
});

it('work ends the row of failures', async () => {
  let served = 0;
  const found = await pauses_s({}, () =>
    ++served % 3 === 0 ? Promise.resolve(true) : Promise.reject(new Error('no such luck')),
  );
  expect(found).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
});
