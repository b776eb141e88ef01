import { expect, it } from 'vitest';
import { runs, SEED } from '../engines/effort.ts';
import { torture } from './harness.ts';

const KILLS = runs(5, { nightly: 30 });

it(
  'counts every accepted event exactly once, whenever the service and its Postgres are killed',
  async () => {
    const result = await torture({ kills: KILLS, seed: SEED });
    expect(result.differences).toEqual([]);
    expect(result.kills).toBe(KILLS);
    // The kills had an effect: requests got no answer, and events were sent again.
    expect(result.ambiguous).toBeGreaterThan(0);
    expect(result.repeated).toBeGreaterThan(result.ambiguous / 2);
    expect(result.faults).toBe(0);
  },
  60_000 + KILLS * 30_000,
);
