import { expect, it } from 'vitest';
import { BackOff } from '../../src/platform/back-off.ts';

it('a key is in back-off for the pause, by the given clock', () => {
  let now_ms = Date.UTC(2026, 0, 1);
  const back_off = new BackOff(30_000, { now_ms: () => now_ms });
  back_off.begin('a');
  now_ms += 29_999;
  expect([back_off.has('a'), back_off.has('b'), back_off.keys()]).toEqual([true, false, ['a']]);
  now_ms += 2;
  expect([back_off.has('a'), back_off.keys()]).toEqual([false, []]);
});
