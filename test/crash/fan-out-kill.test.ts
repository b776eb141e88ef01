import { expect, it } from 'vitest';
import { runs, SEED } from '../engines/effort.ts';
import { tortureFanOut } from './fan-out-harness.ts';

const KILLS = runs(5, { nightly: 30, nightly_on_servers: 20 });
const MEMBERS = 2_500;

it(
  'makes one row per player and sends nobody two messages, whenever the messenger is killed',
  async () => {
    const result = await tortureFanOut({ kills: KILLS, members: MEMBERS, seed: SEED });
    expect(result.differences).toEqual([]);
    expect(result.kills).toBe(KILLS);
    // Some kills happened while messages were under way.
    expect(result.unknown).toBeGreaterThan(0);
  },
  360_000 + KILLS * 15_000,
);
