import { expect, it, vi } from 'vitest';
import { LoopThrottle } from '../../src/platform/loop-throttle.ts';

const LIMITS = { max_waiting: 3, max_wait_ms: 10_000 };
const PIECE_MS = 20;

it('keys take turns, and between pieces of work the loop is free four times as long as the piece took', async () => {
  let now_ms = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now_ms);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const share = new LoopThrottle();
    const order: string[] = [];
    const run = (key: string) =>
      share.run(key, LIMITS, () => {
        order.push(key);
        now_ms += PIECE_MS;
      });
    const pieces = Promise.all([run('a'), run('a'), run('a'), run('b')]);
    for (let done = 1; done < 4; done++) {
      await vi.advanceTimersByTimeAsync(4 * PIECE_MS - 1);
      expect(order).toHaveLength(done);
      await vi.advanceTimersByTimeAsync(1);
      expect(order).toHaveLength(done + 1);
    }
    await pieces;
    expect(order).toEqual(['a', 'a', 'b', 'a']);
  } finally {
    vi.useRealTimers();
    clock.mockRestore();
  }
});

it('work that throws gives the turn on, and too many callers of a key are refused', async () => {
  const share = new LoopThrottle();
  const failing = share.run('a', LIMITS, () => {
    throw new Error('broken');
  });
  const waiting = Array.from({ length: LIMITS.max_waiting }, () => share.run('a', LIMITS, () => 'done'));
  await expect(share.run('a', LIMITS, () => 'done')).rejects.toThrow('3 callers wait');
  const other = share.run('b', LIMITS, () => 'other');
  await expect(failing).rejects.toThrow('broken');
  expect(await Promise.all([...waiting, other])).toEqual(['done', 'done', 'done', 'other']);
});
