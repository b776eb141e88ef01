import { expect, it } from 'vitest';
import { DELIVERY_LANES } from '../../../src/engage/webhooks/deliverer.ts';
import { Lanes, type LaneVerdict } from '../../../src/platform/call-queue/lanes.ts';
import { deliveryPauseMs, lastAttemptMs } from '../../../src/engage/webhooks/retry-schedule.ts';

const lane = (tenant_id: string, host: string) => ({ tenant_id, host });
const REST_MS = 30_000;
const sum = (granted: readonly { places: number }[]) => granted.reduce((all, { places }) => all + places, 0);

it('a lane has 16 places, a host and a tenant a quarter of 256, and all lanes have their turn', () => {
  const lanes = new Lanes(DELIVERY_LANES);
  expect(lanes.grant([lane('a', 'x')], 0)).toEqual([{ ...lane('a', 'x'), places: 16 }]);
  const of_host = Array.from({ length: 20 }, (_, n) => lane(`t${n}`, 'x'));
  expect(sum(lanes.grant(of_host, 0))).toBe(64);
  const of_tenant = Array.from({ length: 20 }, (_, n) => lane('a', `h${n}`));
  expect(sum(lanes.grant(of_tenant, 0))).toBe(64);
  expect(lanes.grant(of_tenant, 0)).toHaveLength(20);
  const many = Array.from({ length: 1_000 }, (_, n) => lane(`t${n}`, `h${n}`));
  expect(sum(lanes.grant(many, 0))).toBe(256);
  const begun = lanes.grant(of_host, 0);
  for (const one of begun) for (let n = 0; n < one.places; n++) lanes.begin(one);
  expect(lanes.grant([lane('other', 'x')], 0)).toEqual([]);
  expect(sum(lanes.grant(many, 0))).toBe(192);
  for (const one of begun) for (let n = 0; n < one.places; n++) lanes.end(one, 'answered', 0);
  expect(sum(lanes.grant(many, 0))).toBe(256);
});

it('a lane rests after 10 failures in a row, then one attempt decides', () => {
  const lanes = new Lanes(DELIVERY_LANES);
  const [bad, other] = [lane('a', 'bad'), lane('b', 'bad')];
  const attempt = (verdict: LaneVerdict, now_ms: number) => {
    lanes.begin(bad);
    lanes.end(bad, verdict, now_ms);
  };
  for (let n = 0; n < 9; n++) attempt('silent', 0);
  attempt('answered', 0);
  for (let n = 0; n < 9; n++) attempt('silent', 0);
  attempt('unknown', 0);
  expect(sum(lanes.grant([bad], 0))).toBe(16);
  attempt('silent', 0);
  expect(lanes.grant([bad, other], REST_MS - 1)).toEqual([{ ...other, places: 16 }]);
  expect(sum(lanes.grant([bad], REST_MS))).toBe(1);
  lanes.begin(bad);
  expect(lanes.grant([bad], REST_MS)).toEqual([]);
  lanes.end(bad, 'silent', REST_MS);
  expect(lanes.grant([bad], REST_MS + 1)).toEqual([]);
  expect(lanes.grant([bad], 2 * REST_MS - 1)).toEqual([]);
  expect(sum(lanes.grant([bad], 2 * REST_MS))).toBe(1);
  attempt('answered', 2 * REST_MS);
  expect(sum(lanes.grant([bad], 2 * REST_MS))).toBe(16);
});

it('pauses grow fourfold with a fifth of jitter, and never beyond what a run waits for', () => {
  const pauses = (jitter: number, retry_after_ms: number | null = null) =>
    [1, 2, 3, 4].map((failed) => deliveryPauseMs({ backoff_ms: 1_000, failed, retry_after_ms }, jitter));
  expect(pauses(0.5)).toEqual([1_000, 4_000, 16_000, 64_000]);
  expect(pauses(0)).toEqual([800, 3_200, 12_800, 51_200]);
  expect(pauses(1)).toEqual([1_200, 4_800, 19_200, 76_800]);
  expect(pauses(0.5, 20_000)).toEqual([20_000, 20_000, 20_000, 64_000]);
  expect(pauses(1, 1e9)).toEqual([3_600_000, 3_600_000, 3_600_000, 3_600_000]);
  const retry = { max_attempts: 5, backoff_ms: 1_000 };
  const longest_ms = pauses(1, 1e9).reduce((all, one) => all + one, 0) + 5 * 10_000;
  expect(longest_ms).toBeLessThanOrEqual(lastAttemptMs({ timeout_ms: 10_000, retry }));
  const long = [1, 2, 3, 4, 5, 6, 7].map((failed) =>
    deliveryPauseMs({ backoff_ms: null, failed, retry_after_ms: null }, 0.5),
  );
  expect(long.map((ms) => ms / 60_000)).toEqual([5 / 60, 5, 30, 120, 300, 600, 600]);
});
