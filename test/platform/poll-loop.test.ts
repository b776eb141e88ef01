import { expect, it } from 'vitest';
import { createLogger, type Logger } from '../../src/platform/logger.ts';
import { startPolling } from '../../src/platform/poll-loop.ts';
import { until } from '../engines/until.ts';

const pauses = { name: 'loop', logger: createLogger('silent'), longest_pause_ms: 60_000 };

it('waking ends the pause', async () => {
  let turns = 0;
  const loop = startPolling({ ...pauses, idle_pause_ms: 60_000 }, () => Promise.resolve(++turns < 0));
  await until((saw) => saw(turns) === 1);
  loop.wake();
  await until((saw) => saw(turns) === 2);
  await loop.close();
});

it('waking during a turn starts another one at once', async () => {
  let turns = 0;
  const loop = startPolling({ ...pauses, idle_pause_ms: 60_000 }, () => {
    turns += 1;
    if (turns === 1) setImmediate(() => loop.wake());
    return new Promise((resolve) => setTimeout(resolve, 20, false));
  });
  await until((saw) => saw(turns) === 2);
  await loop.close();
});

it('a rest that a turn asks for asks for no work, and waking ends it', async () => {
  let turns = 0;
  let waits = 0;
  const work = { untilFound: () => (waits++, Promise.resolve()) };
  const loop = startPolling({ ...pauses, idle_pause_ms: 1, work }, () =>
    Promise.resolve(++turns < 3 ? false : { rest_ms: 60_000 }),
  );
  // Before each turn.
  await until((saw) => saw(turns) === 3);
  expect(waits).toBe(3);
  loop.wake();
  await until((saw) => saw(turns) === 4);
  expect(waits).toBe(4);
  await loop.close();
});

it('closing ends the pause', async () => {
  let turns = 0;
  const loop = startPolling({ ...pauses, idle_pause_ms: 60_000 }, () => Promise.resolve(++turns < 0));
  await until((saw) => saw(turns) === 1);
  await loop.close();
  expect(turns).toBe(1);
});

it('closing waits for the running turn and starts no other', async () => {
  let turns = 0;
  let ended = false;
  const loop = startPolling({ ...pauses, idle_pause_ms: 60_000 }, async (stop) => {
    turns += 1;
    await new Promise((resolve) => stop.addEventListener('abort', resolve));
    await new Promise(setImmediate);
    ended = true;
    return true;
  });
  await loop.close();
  expect({ turns, ended }).toEqual({ turns: 1, ended: true });
});

it('pauses leave no listener on the signal that outlives them', async () => {
  let turns = 0;
  let signal: AbortSignal | undefined;
  const loop = startPolling({ ...pauses, idle_pause_ms: 1 }, (stop) => {
    signal = stop;
    return Promise.resolve(++turns < 0);
  });
  await until((saw) => saw(turns) >= 20);
  expect(dependants(signal)).toBe(0);
  await loop.close();
});

/** The number of signals that `AbortSignal.any` has attached to this one; Node never removes them. */
function dependants(signal: AbortSignal | undefined): number {
  if (signal === undefined) return 0;
  const kept = Object.getOwnPropertySymbols(signal).find((name) => name.description === 'kDependantSignals');
  const signals = kept && (signal as unknown as Record<symbol, Set<unknown> | undefined>)[kept];
  return signals?.size ?? 0;
}

it('after failures in a row the pause doubles up to the longest, and a turn that succeeds ends that', async () => {
  const paused: unknown[] = [];
  const logger = { warn: ({ pause_ms }: { pause_ms: number }) => paused.push(pause_ms) } as unknown as Logger;
  let turns = 0;
  const fails = (turn: number) => turn <= 4 || turn === 6 || turn === 7;
  const loop = startPolling({ name: 'loop', logger, idle_pause_ms: 3, longest_pause_ms: 20 }, () => {
    turns += 1;
    return fails(turns) ? Promise.reject(new Error('no luck')) : Promise.resolve(false);
  });
  await until((saw) => saw(turns) >= 8);
  await loop.close();
  expect(paused).toEqual([6, 12, 20, 20, 6, 12]);
});
