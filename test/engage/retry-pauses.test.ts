import { expect, it } from 'vitest';
import { callPauseMs, earlyCallPauseMs } from '../../src/adapters/retry-schedule.ts';
import { lastAttemptMs, deliveryPauseMs } from '../../src/engage/webhooks/retry-schedule.ts';
import { sendPauseMs } from '../../src/engage/messaging/delivery.ts';
import { bucketOf } from '../../src/platform/bucket.ts';

const ATTEMPTS = Array.from({ length: 12 }, (_, n) => n + 1);
const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
const KEYS = Array.from({ length: 500 }, (_, n) => `key-${n}`);

it('a message that was not sent is tried again after 5 s, then after twice as long, up to a quarter of an hour', () => {
  const own_s = [5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900, 900];
  expect(ATTEMPTS.map((n) => sendPauseMs(n, null) / SECOND_MS)).toEqual(own_s);
  expect(sendPauseMs(5_000, null)).toBe(900_000);
  // The provider may ask for more, up to a day.
  expect(ATTEMPTS.map((n) => sendPauseMs(n, 100_001) / SECOND_MS)).toEqual(
    own_s.map((s) => Math.max(s, 100.001)),
  );
  expect(ATTEMPTS.map((n) => sendPauseMs(n, 1e12))).toEqual(ATTEMPTS.map(() => 24 * HOUR_MS));
});

it('a call to a platform has its listed pauses with a fifth of jitter, and a tenth of that when it is made early', () => {
  const listed_ms = [SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS];
  for (const key of KEYS) {
    for (const calls of ATTEMPTS) {
      const jitter = bucketOf(`${key}:${calls}`, 1_001) / 1_000;
      const usual_ms = ((listed_ms[calls - 1] ?? HOUR_MS) * (100 + 20 * (2 * jitter - 1))) / 100;
      expect(callPauseMs(key, calls)).toBe(Math.round(usual_ms));
      expect(earlyCallPauseMs(key, calls)).toBe(Math.round(usual_ms / 10));
      for (const asked_ms of [7_000, 1e9]) {
        const least_ms = Math.min(asked_ms, HOUR_MS);
        expect(callPauseMs(key, calls, asked_ms)).toBe(Math.round(Math.max(usual_ms, least_ms)));
        expect(earlyCallPauseMs(key, calls, asked_ms)).toBe(Math.round(Math.max(usual_ms / 10, least_ms)));
      }
    }
  }
});

it('a webhook has the pauses of its node, each four times the one before, up to a day', () => {
  const pauses = (backoff_ms: number, jitter: number) =>
    ATTEMPTS.map((failed) => deliveryPauseMs({ backoff_ms, failed, retry_after_ms: null }, jitter));
  const day_ms = 24 * HOUR_MS;
  const own_ms = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 86_400, 86_400, 86_400].map(
    (s) => s * SECOND_MS,
  );
  expect(pauses(1_000, 0.5)).toEqual(own_ms);
  expect(pauses(1_000, 0)).toEqual(own_ms.map((ms) => ms * 0.8));
  expect(pauses(333, 0.123)).toEqual(
    ATTEMPTS.map((n) =>
      Math.round((Math.min(333 * 4 ** (n - 1), day_ms) * (100 + 20 * (2 * 0.123 - 1))) / 100),
    ),
  );
});

it('a run waits until the last attempt of its webhook may have ended', () => {
  const node = (max_attempts: number, backoff_ms: number) => ({
    timeout_ms: 10_000,
    retry: { max_attempts, backoff_ms },
  });
  expect(lastAttemptMs(node(1, 1_000))).toBe(10_000);
  expect(lastAttemptMs(node(5, 1_000))).toBe(50_000 + 4 * HOUR_MS);
  const longest_ms = [1, 4, 16, 64, 256, 1_024, 1_440, 1_440, 1_440].map((minutes) =>
    Math.max(1.2 * minutes * MINUTE_MS, HOUR_MS),
  );
  expect(lastAttemptMs(node(10, 60_000))).toBe(100_000 + longest_ms.reduce((all, ms) => all + ms, 0));
});
