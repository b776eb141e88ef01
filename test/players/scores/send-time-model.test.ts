import * as fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import {
  fitSendTime,
  fitWeight,
  logLoss,
  profileLoss,
  profileOf,
  type SessionHours,
} from '../../../src/players/scores/send-time/fit.ts';
import {
  chanceOfHour,
  countHours,
  distanceOf,
  hourOfWeek,
  HOURS,
  packHours,
  sessionsOf,
  unpackHours,
} from '../../../src/players/scores/send-time/hours.ts';
import { runs, SEED } from '../../engines/effort.ts';

const breathe = () => Promise.resolve();
const UNTIL_MS = Date.parse('2026-06-01T00:00:00Z');
const EVEN = Array.from({ length: HOURS }, () => 1 / HOURS);

/** Numbers in [0, 1), the same for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A profile with most sessions in the evening, more of them at the weekend. */
const EVENING = (() => {
  const weights = EVEN.map((_, hour) => {
    const [day, clock] = [Math.floor(hour / 24), hour % 24];
    return (day >= 5 ? 2 : 1) * (clock >= 18 ? 8 : 1);
  });
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / all);
})();

function drawn(profile: readonly number[], random: () => number): number {
  let left = random();
  const found = profile.findIndex((share) => (left -= share) < 0);
  return found === -1 ? HOURS - 1 : found;
}

/** Pólya's urn: exactly the sessions of a player whose chances are drawn around the profile with this weight. */
function urn(sessions: number, weight: number, random: () => number): number[] {
  const hours: number[] = [];
  for (let n = 0; n < sessions; n++) {
    const own = hours[Math.floor(random() * n)];
    hours.push(own !== undefined && random() < n / (n + weight) ? own : drawn(EVENING, random));
  }
  return hours;
}

function simulated(players: number, weight: number): SessionHours[] {
  const random = randomOf(SEED);
  return Array.from({ length: players }, () => {
    const hours = urn(12 + Math.floor(random() * 30), weight, random);
    const [first, next] = [Math.floor(hours.length * 0.6), Math.floor(hours.length * 0.8)];
    return [hours.slice(0, first), hours.slice(first, next), hours.slice(next)];
  });
}

describe('hours of the week', () => {
  it('begin on Monday at midnight by the clock, as luxon has it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 41 }), (local_ms) => {
        const clock = DateTime.fromMillis(local_ms, { zone: 'utc' });
        expect(hourOfWeek(local_ms)).toBe((clock.weekday - 1) * 24 + clock.hour);
      }),
      { numRuns: runs(500), seed: SEED },
    );
  });

  it('are packed into two bytes each', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: HOURS - 1 }), { maxLength: 400 }), (hours) => {
        const counts = countHours(hours);
        const packed = packHours(counts);
        expect(packed).toHaveLength(2 * new Set(hours).size);
        expect(unpackHours(packed)).toEqual(counts);
      }),
      { numRuns: runs(200), seed: SEED },
    );
    expect(countHours(Array.from({ length: 300 }, () => 7)).get(7)).toBe(255);
  });

  it('have chances that add up to 1, between the own share and the profile', () => {
    const counts = countHours([3, 3, 3, 50, 167]);
    const parameters = { weight: 15, profile: EVENING };
    const chances = EVEN.map((_, hour) => chanceOfHour(parameters, counts, sessionsOf(counts), hour));
    expect(chances.reduce((sum, chance) => sum + chance, 0)).toBeCloseTo(1, 12);
    expect(chances[3]).toBeCloseTo((3 + 15 * (EVENING[3] ?? 0)) / 20, 12);
    expect(chances[4]).toBeCloseTo((15 * (EVENING[4] ?? 0)) / 20, 12);
    // Nothing of one's own: the profile.
    expect(chanceOfHour(parameters, new Map(), 0, 20)).toBeCloseTo(EVENING[20] ?? 0, 12);
  });

  it('differ by half the sum of what chances differ by', () => {
    const parameters = { weight: 6, profile: EVEN };
    const [a, b] = [countHours([1, 1, 1, 1]), countHours([1, 1, 1, 2])];
    expect(distanceOf(parameters, a, b)).toBeCloseTo(1 / 10, 12);
    expect(distanceOf(parameters, a, a)).toBe(0);
    expect(distanceOf({ weight: 1e-9, profile: EVEN }, countHours([1]), countHours([2]))).toBeCloseTo(1, 6);
  });
});

describe('the fit', () => {
  it('counts each hour once more than it was in the profile', () => {
    const profile = profileOf([[5, 5], [7]]);
    expect(profile[5]).toBeCloseTo(3 / 171, 12);
    expect(profile[7]).toBeCloseTo(2 / 171, 12);
    expect(profile[0]).toBeCloseTo(1 / 171, 12);
    expect(profile.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it('has the log loss of its formula, and that of the profile at its end', () => {
    const sessions = [
      { sessions: 8, in_hour: 2, usual: 0.1 },
      { sessions: 8, in_hour: 0, usual: 0.3 },
    ];
    expect(logLoss(sessions, 4)).toBeCloseTo(-(Math.log(2.4 / 12) + Math.log(1.2 / 12)) / 2, 12);
    expect(profileLoss(sessions)).toBeCloseTo(-(Math.log(0.1) + Math.log(0.3)) / 2, 12);
    expect(logLoss(sessions, 1e12)).toBeCloseTo(profileLoss(sessions), 9);
  });

  it('finds the weight of the closed form for players with one hour', async () => {
    // All n sessions were in an hour that has the share q of the profile, and a share f of the next ones is. The loss is least
    // where the chance is f: (n + w q) / (n + w) = f.
    for (const [n, q, f] of [
      [5, 0.02, 0.4],
      [20, 0.1, 0.7],
      [60, 0.05, 0.9],
    ] as const) {
      const inside = Math.round(f * 100);
      const sessions = Array.from({ length: 100 }, (_, i) =>
        i < inside ? { sessions: n, in_hour: n, usual: q } : { sessions: n, in_hour: 0, usual: 1 - q },
      );
      expect(await fitWeight(sessions)).toBeCloseTo((n * (1 - f)) / (f - q), 2);
    }
  });

  it.each([5, 20, 60])('finds the weight %d that simulated players have', async (weight) => {
    const fitted = await fitSendTime(simulated(3_000, weight), UNTIL_MS, breathe);
    expect(fitted.status).toBe('on');
    expect(fitted.parameters?.weight).toBeGreaterThan(weight * 0.75);
    expect(fitted.parameters?.weight).toBeLessThan(weight / 0.75);
    const { log_loss = 0, log_loss_profile = 0, ...proof } = fitted.held_out ?? {};
    expect(log_loss).toBeLessThan(log_loss_profile);
    expect(proof).toMatchObject({ from: '2026-05-18T00:00:00.000Z', to: '2026-06-01T00:00:00.000Z' });
    // The profile is that of the urns.
    const profile = fitted.parameters?.profile ?? [];
    expect(profile.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
    expect(profile[164] ?? 0).toBeGreaterThan(5 * (profile[10] ?? 1));
  });

  it('has almost no weight of their own where players have no habits', async () => {
    const fitted = await fitSendTime(simulated(3_000, 1e9), UNTIL_MS, breathe);
    expect(fitted.parameters?.weight).toBeGreaterThan(300);
    const { log_loss = 0, log_loss_profile = 0 } = fitted.held_out ?? {};
    expect(Math.abs(log_loss - log_loss_profile)).toBeLessThan(0.01);
  });

  it('is off when the habits have changed at the end', async () => {
    const players = simulated(2_000, 10).map(([first, next, last]): SessionHours => {
      return [first, next, last.map((hour) => (hour + 12) % HOURS)];
    });
    const fitted = await fitSendTime(players, UNTIL_MS, breathe);
    expect(fitted.status).toBe('off');
    expect(fitted.held_out?.log_loss).toBeGreaterThan(fitted.held_out?.log_loss_profile ?? Infinity);
    expect(fitted.parameters).not.toBeNull();
  });

  it('waits for players: those with fewer than five sessions say nothing', async () => {
    const waiting = { status: 'waiting', parameters: null, held_out: null };
    expect(await fitSendTime([], UNTIL_MS, breathe)).toEqual(waiting);
    expect(await fitSendTime(simulated(199, 10), UNTIL_MS, breathe)).toEqual(waiting);
    const few = simulated(2_000, 10).map(([first, next, last]): SessionHours => [
      first.slice(0, 4),
      next,
      last,
    ]);
    expect(await fitSendTime(few, UNTIL_MS, breathe)).toEqual(waiting);
  });
});
