import { expect, it, vi } from 'vitest';
import { Turns } from '../../src/platform/turns.ts';
import { until } from '../engines/until.ts';

const nothing = () => undefined;
const failures: unknown[] = [];
const turnsOf = (max_running: number) =>
  new Turns<string>({
    keyOf: (item) => item,
    max_running,
    onFailure: (_item, error) => failures.push(error),
  });

it('starts several items at once, each once, and those first that were served longest ago', async () => {
  const turns = turnsOf(2);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const serve = (item: string) => {
    started.push(item);
    return new Promise<boolean>((resolve) => ends.push(() => resolve(true)));
  };
  let ended = 0;
  const start = () => turns.start(['busy', 'slow', 'late', 'last'], serve, () => (ended += 1));
  start();
  start();
  expect(started).toEqual(['busy', 'slow']);
  ends[0]?.();
  await until((saw) => saw(ended) === 1);
  start();
  expect(started).toEqual(['busy', 'slow', 'late']);
  ends[2]?.();
  await until((saw) => saw(ended) === 2);
  start();
  expect(started).toEqual(['busy', 'slow', 'late', 'last']);
  ends[3]?.();
  await until((saw) => saw(ended) === 3);
  start();
  expect(started).toEqual(['busy', 'slow', 'late', 'last', 'busy']);
  for (const end of ends) end();
  await turns.close();
});

it('leaves an item that failed alone for a while, and serves the others', async () => {
  const turns = turnsOf(4);
  const served: string[] = [];
  const worked: boolean[] = [];
  const start = (items: readonly string[]) =>
    turns.start(
      items,
      (item) => {
        served.push(item);
        return item === 'bad' ? Promise.reject(new Error('no such luck')) : Promise.resolve(true);
      },
      (has_worked) => worked.push(has_worked),
    );
  start(['bad', 'good']);
  await until((saw) => saw(worked.length) === 2);
  expect(new Set(worked)).toEqual(new Set([false, true]));
  expect(failures).toEqual([new Error('no such luck')]);
  start(['bad', 'good']);
  expect(served).toEqual(['bad', 'good', 'good']);
  await until((saw) => saw(worked.length) === 3);
  start(['bad']);
  expect(served).toHaveLength(3);
  await until(() => {
    start(['bad']);
    return served.length === 4;
  });
  await turns.close();
});

it('serves every item of a list once, and tells whether any had work', async () => {
  const turns = turnsOf(2);
  const served: string[] = [];
  const all = ['a', 'b', 'c', 'd', 'e'];
  const serve = (item: string) => {
    served.push(item);
    return Promise.resolve(item === 'd');
  };
  expect(await turns.serveAll(all, serve)).toBe(true);
  expect(served.sort()).toEqual(all);
  expect(await turns.serveAll([], serve)).toBe(false);
  turns.start([], serve, nothing);
});

it('an item that fails each time rests for 1 s, then twice as long, up to a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const turns = turnsOf(1);
    let served = 0;
    const serve = () => {
      served += 1;
      return Promise.reject(new Error('no such luck'));
    };
    const rests_s: number[] = [];
    for (let n = 1; n <= 9; n++) {
      let rest_s = 0;
      const begins = () => {
        turns.start(['bad'], serve, nothing);
        return served === n;
      };
      for (; !begins(); rest_s++) vi.advanceTimersByTime(1_000);
      rests_s.push(rest_s);
      await turns.close();
    }
    expect(rests_s).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
  } finally {
    vi.useRealTimers();
  }
});
