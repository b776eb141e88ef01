import { expect, it } from 'vitest';
import { clockOf } from '../../clients/js/src/browser/clock.ts';

// The clock of a page, which learns from answers how wrong the clock of the device is.

const NOW_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const at = (ms: number) => new Date(ms).toUTCString();

/** A device whose clock is that much ahead. */
function deviceOf(ahead_ms: number, kept?: string) {
  const device = { now_ms: NOW_MS + ahead_ms, kept };
  const clock = clockOf(() => device.now_ms, {
    read: () => device.kept,
    write: (text) => (device.kept = text),
  });
  return { device, clock };
}

it.each([2 * DAY_MS, -3 * DAY_MS, 61_000])('a clock that is %i ms ahead is corrected', (ahead_ms) => {
  const { device, clock } = deviceOf(ahead_ms);
  expect(clock.now_ms()).toBe(NOW_MS + ahead_ms);
  clock.learn(at(NOW_MS), device.now_ms);
  expect(clock.now_ms()).toBe(NOW_MS);
  // The next page of the site.
  expect(deviceOf(ahead_ms, device.kept).clock.now_ms()).toBe(NOW_MS);
  // The user has set it.
  device.now_ms = NOW_MS + 10_000;
  clock.learn(at(NOW_MS + 10_000), device.now_ms);
  expect(clock.now_ms()).toBe(NOW_MS + 10_000);
  expect(device.kept).toBeUndefined();
});

it('a clock that is at most 60 s off is kept', () => {
  const { device, clock } = deviceOf(59_000);
  clock.learn(at(NOW_MS), device.now_ms);
  expect(clock.now_ms()).toBe(device.now_ms);
});

it('learns nothing from an answer that is no time, or that waited while the device slept', () => {
  const { device, clock } = deviceOf(0);
  for (const date of [null, '', 'yesterday']) clock.learn(date, device.now_ms);
  const sent_ms = device.now_ms;
  device.now_ms += 8 * 3_600_000;
  clock.learn(at(NOW_MS), sent_ms);
  expect(clock.now_ms()).toBe(device.now_ms);
  expect(deviceOf(0, 'nonsense').clock.now_ms()).toBe(NOW_MS);
});
