import { expect, it } from 'vitest';
import { LoopShare } from '../../src/platform/loop-share.ts';

const LIMITS = { max_waiting: 3, max_wait_ms: 10_000 };
const PIECE_MS = 20;

function work(): { from_ms: number; to_ms: number } {
  const from_ms = performance.now();
  while (performance.now() - from_ms < PIECE_MS);
  return { from_ms, to_ms: performance.now() };
}

it('keys take turns, and between pieces of work the loop is free four times as long as the piece took', async () => {
  const share = new LoopShare();
  const order: string[] = [];
  const run = (key: string) =>
    share.run(key, LIMITS, () => {
      order.push(key);
      return work();
    });
  const pieces = await Promise.all([run('a'), run('a'), run('a'), run('b')]);
  expect(order).toEqual(['a', 'a', 'b', 'a']);
  pieces.sort((one, other) => one.from_ms - other.from_ms);
  // A timer may fire a millisecond early.
  const rests_ms = pieces.slice(1).map(({ from_ms }, i) => from_ms - (pieces[i]?.to_ms ?? 0));
  for (const rest_ms of rests_ms) expect(rest_ms).toBeGreaterThan(PIECE_MS * 4 - 2);
});

it('work that throws gives the turn on, and too many callers of a key are refused', async () => {
  const share = new LoopShare();
  const failing = share.run('a', LIMITS, () => {
    throw new Error('broken');
  });
  const waiting = Array.from({ length: LIMITS.max_waiting }, () => share.run('a', LIMITS, () => 'done'));
  await expect(share.run('a', LIMITS, () => 'done')).rejects.toThrow('3 callers wait');
  const other = share.run('b', LIMITS, () => 'other');
  await expect(failing).rejects.toThrow('broken');
  expect(await Promise.all([...waiting, other])).toEqual(['done', 'done', 'done', 'other']);
});
