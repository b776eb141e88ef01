import { expect, it } from 'vitest';
import { runs, SEED } from '../engines/effort.ts';
import { tortureJourneys } from './journeys-harness.ts';

const KILLS = runs(5, { nightly: 30, nightly_on_servers: 20 });

it(
  'loses no run and does nothing twice, whenever runner, matcher, messenger and deliverer are killed',
  async () => {
    const result = await tortureJourneys({ kills: KILLS, seed: SEED });
    expect(result.differences).toEqual([]);
    expect(result.kills).toBe(KILLS);
    // Some kills happened while messages and webhooks were under way, and some events were awaited.
    expect(result.unanswered).toBeGreaterThan(0);
    expect(result.attempts).toBeGreaterThan(0);
    expect(result.answered).toBeGreaterThan(0);
  },
  500_000 + KILLS * 15_000,
);
