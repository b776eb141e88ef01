import { expect, it } from 'vitest';
import { tortureFanOut } from './fan-out-harness.ts';

const KILLS = Number(process.env['FAN_OUT_KILLS'] ?? 20);
const MEMBERS = Number(process.env['FAN_OUT_MEMBERS'] ?? 2_500);
const SEED = Number(process.env['TORTURE_SEED'] ?? 20_260_101);

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
