import { expect, it } from 'vitest';
import { runs, SEED } from '../engines/effort.ts';
import { tortureServers } from './servers-harness.ts';

/** Of each server some; a night on servers has the count of ci. */
const KILLS = runs(30, { quick: 6 });

it(
  'counts, follows and sends exactly once, whichever servers and processes are killed',
  async () => {
    const result = await tortureServers({ kills: KILLS, seed: SEED });
    expect(result.differences).toEqual([]);
    // The kills had an effect, and there was something to compare.
    expect([...result.kills.values()].reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    expect(result.ambiguous).toBeGreaterThan(0);
    expect(result.changes).toBeGreaterThan(result.repeated_changes);
    expect(result.outcomes.get('sent')).toBeGreaterThan(0);
    expect(result.outcomes.get('SKIPPED_SELF_EXCLUDED')).toBeGreaterThan(0);
  },
  60_000 + KILLS * 20_000,
);
