import { describe, expect, it } from 'vitest';
import { EFFORT } from '../../../engines/effort.ts';
import { NODE_ZONES } from '../../../engines/time-zones.ts';
import { nextLocalMs, type LocalWait } from '../../../../src/engage/journeys/graph/local-time.ts';
import { goingOn, table, wallClock, weekday } from './wall-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const time = (minute: number, days: number[] = [], timezone = 'player'): LocalWait => ({
  until: 'time',
  minute,
  days,
  timezone,
});
const window = (from_minute: number, to_minute: number, days: number[] = []): LocalWait => ({
  until: 'window',
  from_minute,
  to_minute,
  days,
  timezone: 'player',
});

/** The minutes of the year in which clocks are put forward or back. */
function edges(clock: (minute: number) => number): number[] {
  const offset = (minute: number) => clock(minute) - minute;
  const found: number[] = [];
  for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2027, 0, 1); day += DAY_MS) {
    let [low, high] = [day / MINUTE_MS, (day + DAY_MS) / MINUTE_MS];
    if (offset(low) === offset(high)) continue;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === offset(low)) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

/** Waits around a minute of the day at which clocks change, and at usual times. */
function waitsAround(minute: number, today: number): LocalWait[] {
  const around = (off: number) => (minute + off + 2_880) % 1_440;
  return [
    time(around(0)),
    time(around(-30)),
    time(around(-60), [today]),
    time(around(20)),
    time(around(-15), [(today % 7) + 1]),
    time(150, [today]),
    time(0),
    time(1_439, [1, 4]),
    window(around(-45), around(45)),
    window(around(-90), around(-30)),
    window(around(-50), around(-40), [today]),
    window(around(-20), around(10)),
    window(540, 1_080, [1, 2, 3, 4, 5]),
    window(1_320, 120, [today]),
    window(around(5), around(-5), [today, (today % 7) + 1]),
    window(60, 60, [((today + 3) % 7) + 1]),
  ];
}

describe('the next local time or window', () => {
  it(
    'is exact to the minute three hours around every change of clocks, in every zone',
    { timeout: 300_000 },
    () => {
      const zones = [...NODE_ZONES, 'UTC', 'US/Eastern', 'Etc/GMT+12'];
      /** Many zones have the same clocks. */
      const answers = new Map<string, number[]>();
      const known = (clocks: string, shown: number[], wait: LocalWait) => {
        const key = `${clocks} ${JSON.stringify(wait)}`;
        const next = answers.get(key) ?? goingOn(shown, wait);
        answers.set(key, next);
        return next;
      };
      /** Zones whose clocks show the same at every change of the year; by day one of them stands for all. */
      const seen = new Set<string>();
      let compared = 0;
      let changes = 0;
      for (const zone of zones) {
        const clock = wallClock(zone);
        const found = edges(clock);
        changes += found.length;
        const year = [Date.UTC(2026, 0, 1) / MINUTE_MS, ...found].map((minute) => [minute, clock(minute)]);
        if (EFFORT !== 'nightly' && seen.has(year.join())) continue;
        seen.add(year.join());
        const moments = found.length > 0 ? found : [Date.UTC(2026, 2, 29, 1) / MINUTE_MS];
        for (const edge of moments) {
          const first = edge - 1_440 - 240;
          const shown = table(clock, first, 10 * 1_440);
          const clocks = [first, ...shown.filter((now, n) => now !== (shown[n - 1] ?? 0) + 1)].join();
          const local = shown[edge - first] ?? 0;
          // Both what the clock would show, and what it does show.
          for (const minute of new Set([local % 1_440, ((shown[edge - first - 1] ?? 0) + 1) % 1_440])) {
            for (const wait of waitsAround(minute, weekday(Math.floor(local / 1_440)))) {
              const next = known(clocks, shown, wait);
              let before_ms = 0;
              for (let off = -180; off <= 180; off += 20 + (compared % 7)) {
                const now_ms = (edge + off) * MINUTE_MS + ((compared * 7_919) % MINUTE_MS);
                const expected = Math.max(((next[edge + off - first] ?? 0) + first) * MINUTE_MS, now_ms);
                const got = nextLocalMs(wait, zone, now_ms);
                if (got !== expected || got < before_ms || got < now_ms) {
                  const iso = (at_ms: number) => new Date(at_ms).toISOString();
                  const what = { zone, wait, now: iso(now_ms) };
                  expect({ ...what, got: iso(got), before: iso(before_ms) }).toEqual({
                    ...what,
                    got: iso(expected),
                  });
                }
                before_ms = got;
                compared++;
              }
            }
          }
        }
      }
      expect(zones.length).toBeGreaterThan(400);
      // Those of the zones that changed since are compared by example.
      expect(changes).toBeGreaterThan(240);
      expect(compared).toBeGreaterThan(EFFORT === 'nightly' ? 100_000 : 30_000);
    },
  );

  const at = Date.parse;
  it.each([
    ['a time later today', time(600), 'Europe/Malta', '2026-06-01T07:00:30Z', '2026-06-01T08:00:00Z'],
    ['a minute that runs', time(600), 'Europe/Malta', '2026-06-01T08:00:59.999Z', '2026-06-01T08:00:59.999Z'],
    ['a minute that is over', time(600), 'Europe/Malta', '2026-06-01T08:01:00Z', '2026-06-02T08:00:00Z'],
    ['the only day of the week', time(600, [1]), 'UTC', '2026-06-01T10:01:00Z', '2026-06-08T10:00:00Z'],
    ['a time in a gap', time(150), 'Europe/Berlin', '2026-03-29T00:59:00Z', '2026-03-29T01:00:00Z'],
    ['a time that comes twice', time(150), 'Europe/Berlin', '2026-10-24T23:00:00Z', '2026-10-25T00:30:00Z'],
    ['the second time', time(150), 'Europe/Berlin', '2026-10-25T01:30:10Z', '2026-10-26T01:30:00Z'],
    ['a window that is open', window(540, 1_080), 'UTC', '2026-06-01T09:30:10Z', '2026-06-01T09:30:10Z'],
    ['a window that is over', window(540, 1_080), 'UTC', '2026-06-01T18:00:00Z', '2026-06-02T09:00:00Z'],
    ["Friday's night", window(1_320, 120, [5]), 'UTC', '2026-06-06T01:59:00Z', '2026-06-06T01:59:00Z'],
    ["not Saturday's", window(1_320, 120, [5]), 'UTC', '2026-06-06T22:00:00Z', '2026-06-12T22:00:00Z'],
    [
      'a window within a gap',
      window(130, 140),
      'Europe/Berlin',
      '2026-03-29T00:00:00Z',
      '2026-03-29T01:00:00Z',
    ],
    [
      'clocks put back into the window',
      window(60, 150),
      'Europe/Berlin',
      '2026-10-25T00:45:00Z',
      '2026-10-25T01:00:00Z',
    ],
    [
      'a day that a zone skipped',
      time(600, [5]),
      'Pacific/Apia',
      '2011-12-30T09:00:00Z',
      '2011-12-30T10:00:00Z',
    ],
    [
      'an unknown zone of a player',
      time(600),
      'Mars/Olympus',
      '2026-06-01T07:00:00Z',
      '2026-06-01T10:00:00Z',
    ],
    ['a player without a zone', time(600), '', '2026-06-01T07:00:00Z', '2026-06-01T10:00:00Z'],
    [
      'a zone of its own',
      time(600, [], 'Asia/Tokyo'),
      'Europe/Malta',
      '2026-06-01T00:30:00Z',
      '2026-06-01T01:00:00Z',
    ],
    [
      'an unknown zone of its own',
      time(600, [], '+02:00'),
      'Europe/Malta',
      '2026-06-01T07:00:00Z',
      '2026-06-01T08:00:00Z',
    ],
    ['another spelling', time(600), 'EUROPE/malta', '2026-06-01T07:00:00Z', '2026-06-01T08:00:00Z'],
  ])('%s', (_what, wait, zone, now, expected) => {
    expect(new Date(nextLocalMs(wait, zone, at(now))).toISOString()).toBe(
      new Date(at(expected)).toISOString(),
    );
  });
});
