import { describe, expect, it } from 'vitest';
import { Lots, type LotLimits } from '../../src/platform/lots.ts';

const LIMITS: LotLimits = {
  max_items: 3,
  max_running: 2,
  beside_after_ms: 60_000,
  waiting: { max_waiting: 8, max_waiting_of_group: 6, max_wait_ms: 60_000 },
};

/** Lots of numbers, which end when the test says so. */
function heldLots(limits: Partial<LotLimits> = {}) {
  const begun: { items: number[]; end: (error?: Error) => void }[] = [];
  const lots = new Lots<number, string>('a lot', { ...LIMITS, ...limits }, async (_group, take) => {
    const items = take();
    await new Promise<void>((resolve, reject) =>
      begun.push({ items, end: (error) => (error === undefined ? resolve() : reject(error)) }),
    );
    return items.map((item) => () => {
      if (item < 0) throw new Error(`refused ${item}`);
      return `done ${item}`;
    });
  });
  const taken = () => begun.map(({ items }) => items);
  const end = async (lot: number, error?: Error) => {
    begun[lot]?.end(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lots, taken, end };
}

describe('items of one key', () => {
  it('begin at once, and those that come meanwhile are taken together, in their order', async () => {
    const { lots, taken, end } = heldLots();
    const results = [1, 2, -3, 4, 5].map((item) => lots.add('key', 'group', item).catch(String));
    expect(taken()).toEqual([[1]]);
    const other = lots.add('other key', 'group', 9);
    expect(taken()).toEqual([[1], [9]]);
    await end(0);
    expect(taken()).toEqual([[1], [9], [2, -3, 4]]);
    await end(2);
    await end(3);
    await end(1);
    expect(await Promise.all([...results, other])).toEqual([
      'done 1',
      'done 2',
      'Error: refused -3',
      'done 4',
      'done 5',
      'done 9',
    ]);
  });

  it('begin beside a lot that takes long, but no more than allowed', async () => {
    const { lots, taken, end } = heldLots({ beside_after_ms: 5 });
    const results = [1, 2, 3].map((item) => lots.add('key', 'group', item));
    await expect.poll(taken).toEqual([[1], [2, 3]]);
    const last = lots.add('key', 'group', 4);
    expect(taken()).toHaveLength(2);
    await end(1);
    await expect.poll(taken).toEqual([[1], [2, 3], [4]]);
    await end(2);
    await end(0);
    expect(await Promise.all([...results, last])).toEqual(['done 1', 'done 2', 'done 3', 'done 4']);
  });

  it('that fail together leave those behind them to the next lot', async () => {
    const { lots, end } = heldLots();
    const results = [1, 2].map((item) => lots.add('key', 'group', item).catch(String));
    await end(0, new Error('broken'));
    await end(1);
    expect(await Promise.all(results)).toEqual(['Error: broken', 'done 2']);
  });

  it('are refused beyond the limits, of all and of a group, and after the longest wait', async () => {
    const { lots, end } = heldLots();
    const running = [lots.add('a', 'one', 1), lots.add('b', 'two', 2)];
    const waiting = Array.from({ length: 6 }, (_, i) => lots.add('a', 'one', 10 + i));
    await expect(lots.add('a', 'one', 3)).rejects.toThrow('6 items of one group wait for a lot');
    waiting.push(lots.add('b', 'two', 4), lots.add('b', 'two', 5));
    await expect(lots.add('b', 'two', 6)).rejects.toThrow('8 items wait for a lot');
    for (let lot = 0; lot < 5; lot++) await end(lot);
    expect(await Promise.all([...running, ...waiting])).toHaveLength(10);

    const short = heldLots({ waiting: { max_waiting: 8, max_wait_ms: 1 } });
    const first = short.lots.add('a', 'one', 1);
    await expect(short.lots.add('a', 'one', 2)).rejects.toThrow('waited 1 ms for a lot');
    await short.end(0);
    expect(await first).toBe('done 1');
    expect(short.taken()).toEqual([[1]]);
  });

  it('are refused with what refuses their lot before it begins', async () => {
    const lots = new Lots<number, string>('a lot', LIMITS, () => Promise.reject(new Error('no place')));
    await expect(Promise.all([lots.add('a', 'one', 1), lots.add('a', 'one', 2)])).rejects.toThrow('no place');
    await expect(lots.add('a', 'one', 3)).rejects.toThrow('no place');
  });
});
