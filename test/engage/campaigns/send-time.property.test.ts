import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import {
  AT_ONCE,
  isAtPlainTime,
  ownHours,
  slotsOf,
  timings,
  type SendTimeRules,
} from '../../../src/engage/campaigns/send-time.ts';
import { countHours, HOURS, packHours } from '../../../src/players/scores/send-time/hours.ts';
import { TimeZone, UTC_ZONE } from '../../../src/platform/time-zone.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { NODE_ZONES } from '../../engines/time-zones.ts';

/** Every clock and window of these tests changes at the quarters of an hour. */
const QUARTER_MS = 15 * 60_000;
const DAY_MS = 86_400_000;
const WINDOWS = [
  null,
  { start: '22:00', end: '08:00' },
  { start: '21:30', end: '09:15' },
  { start: '02:00', end: '03:00' },
  { start: '00:00', end: '23:45' },
];
/** Around changes of the clocks of many zones, and anywhere. */
const MOMENTS = fc.oneof(
  fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) }),
  fc
    .tuple(
      fc.constantFrom('2026-03-08', '2026-03-29', '2026-10-04', '2026-10-25', '2026-11-01', '2026-04-05'),
      fc.integer({ min: -DAY_MS, max: DAY_MS }),
    )
    .map(([day, shift]) => Date.parse(`${day}T02:00:00Z`) + shift),
);
const ZONES = fc.oneof(
  fc.constantFrom(...NODE_ZONES),
  fc.constantFrom(
    'Europe/Malta',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'Asia/Kathmandu',
  ),
);
const PROFILE = Array.from({ length: HOURS }, (_, hour) => (1 + (hour % 24)) / (7 * 300));

const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** The best moment by walking through the quarters of an hour with luxon's clock; `n` sessions are those of `hours`. */
function walked(
  hours: readonly number[],
  {
    zone,
    quiet_zone,
    quiet,
    weight,
  }: { zone: string; quiet_zone: string; quiet: { start: string; end: string } | null; weight: number },
  from_ms: number,
  until_ms: number,
): number | undefined {
  let best: { at_ms: number; chance: number } | undefined;
  for (let at_ms = from_ms; at_ms < until_ms; at_ms = (Math.floor(at_ms / QUARTER_MS) + 1) * QUARTER_MS) {
    const clock = DateTime.fromMillis(at_ms, { zone });
    const quiet_clock = DateTime.fromMillis(at_ms, { zone: quiet_zone });
    const minute = quiet_clock.hour * 60 + quiet_clock.minute;
    if (quiet !== null) {
      const [start, end] = [minutes(quiet.start), minutes(quiet.end)];
      if (start < end ? start <= minute && minute < end : minute >= start || minute < end) continue;
    }
    const hour = (clock.weekday - 1) * 24 + clock.hour;
    const own = hours.filter((one) => one === hour).length;
    const chance = (own + weight * (PROFILE[hour] ?? 0)) / (hours.length + weight);
    if (best === undefined || chance > best.chance) best = { at_ms, chance };
  }
  return best?.at_ms;
}

describe('the own hour', () => {
  it('is the first moment of the hour with the highest chance that is not quiet, by the clock of every zone', () => {
    fc.assert(
      fc.property(
        fc.record({
          hours: fc.array(fc.integer({ min: 0, max: HOURS - 1 }), { minLength: 5, maxLength: 40 }),
          timezone: fc.option(ZONES),
          zone: ZONES,
          default_timezone: ZONES,
          window: fc.constantFrom(...WINDOWS),
          weight: fc.constantFrom(0.5, 10, 200),
          started_ms: MOMENTS,
          late_ms: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: DAY_MS })),
        }),
        ({ hours, timezone, zone, default_timezone, window, weight, started_ms, late_ms }) => {
          const now_ms = started_ms + late_ms;
          const rules: SendTimeRules = {
            parameters: { weight, profile: PROFILE },
            zone: TimeZone.named(zone) ?? UTC_ZONE,
            quiet_hours: window && { ...window, default_timezone },
            started_ms,
            now_ms,
          };
          const own_ms = ownHours(rules)({ timezone, session_hours: packHours(countHours(hours)) });
          const by = {
            zone: timezone ?? zone,
            quiet_zone: timezone ?? default_timezone,
            quiet: window,
            weight,
          };
          expect(own_ms).toBe(walked(hours, by, now_ms, started_ms + DAY_MS));
        },
      ),
      { numRuns: runs(400, { quick: 60 }), seed: SEED },
    );
  });

  it('of a night in which the clock is put back or forward has each hour of the clock', () => {
    const malta = TimeZone.named('Europe/Malta') ?? UTC_ZONE;
    const hoursOf = (day: string) => {
      const from_ms = DateTime.fromISO(day, { zone: 'Europe/Malta' }).toMillis();
      return slotsOf(malta, from_ms, from_ms + 5 * 3_600_000).map(({ hour }) => hour - 144);
    };
    expect(hoursOf('2026-10-25')).toEqual([0, 1, 2, 2, 3]);
    expect(hoursOf('2026-03-29')).toEqual([0, 1, 3, 4, 5]);
    expect(hoursOf('2026-04-05')).toEqual([0, 1, 2, 3, 4]);
  });

  it('is nobody’s whose sessions are too few, or 24 hours after the start', () => {
    const started_ms = Date.parse('2026-05-04T10:20:00Z');
    const rules = {
      parameters: { weight: 5, profile: PROFILE },
      zone: UTC_ZONE,
      quiet_hours: null,
      started_ms,
    };
    const session_hours = packHours(countHours([20, 20, 20, 20, 44]));
    const at = (now_ms: number) => ownHours({ ...rules, now_ms })({ timezone: null, session_hours });
    expect(new Date(at(started_ms) ?? 0).toISOString()).toBe('2026-05-04T20:00:00.000Z');
    expect(at(started_ms + DAY_MS)).toBeUndefined();
    expect(at(started_ms + DAY_MS - 1)).toBe(started_ms + DAY_MS - 1);
    expect(
      ownHours({ ...rules, now_ms: started_ms })({ timezone: null, session_hours: null }),
    ).toBeUndefined();
  });
});

describe('the comparison', () => {
  const started_ms = Date.parse('2026-05-04T10:20:00Z');
  const rules: SendTimeRules = {
    parameters: { weight: 5, profile: PROFILE },
    zone: UTC_ZONE,
    quiet_hours: { start: '22:00', end: '08:00', default_timezone: 'UTC' },
    started_ms,
    now_ms: started_ms,
  };
  const session_hours = packHours(countHours([20, 20, 20, 20, 44]));
  const due_at = new Date('2026-05-04T20:00:00Z');

  it('draws a tenth of those with an own hour, the same ones again', () => {
    const campaign_id = randomUUID();
    const timingOf = timings(campaign_id, rules);
    const player_ids = Array.from({ length: 5_000 }, () => randomUUID());
    const plain = player_ids.filter((id) => isAtPlainTime(campaign_id, id));
    // Six standard deviations.
    expect(Math.abs(plain.length - 500)).toBeLessThan(130);
    for (const player_id of player_ids) {
      const timing = timingOf({ player_id, timezone: null, session_hours }, { is_service: false });
      const is_plain = isAtPlainTime(campaign_id, player_id);
      expect(timing).toEqual(is_plain ? { due_at: null, is_own_hour: false } : { due_at, is_own_hour: true });
      const later = timings(campaign_id, { ...rules, now_ms: started_ms + 3_600_000 });
      expect(later({ player_id, timezone: null, session_hours }, { is_service: false })).toEqual(timing);
    }
    const other = player_ids.filter((id) => isAtPlainTime(randomUUID(), id));
    expect(other).not.toEqual(plain);
  });

  it('has nobody in quiet hours, without an own hour, or with a service message', () => {
    const timingOf = timings(randomUUID(), rules);
    const player_ids = Array.from({ length: 200 }, () => randomUUID());
    for (const player_id of player_ids) {
      const member = { player_id, timezone: null, session_hours };
      expect(timingOf({ ...member, session_hours: null }, { is_service: false })).toEqual(AT_ONCE);
      expect(timingOf(member, { is_service: true })).toEqual({ due_at, is_own_hour: null });
      // 22:20 by the clock of Auckland; the next 20 o'clock that counts is Tuesday's of the profile.
      const asleep = timingOf({ ...member, timezone: 'Pacific/Auckland' }, { is_service: false });
      expect(asleep.is_own_hour).toBeNull();
      expect(asleep.due_at?.getTime()).toBeGreaterThan(started_ms);
    }
  });
});
