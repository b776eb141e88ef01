import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  countArms,
  HELD_OUT,
  populationOfCampaign,
  selectCap,
  selectValues,
  sumArms,
  type Measures,
} from '../../../src/engage/experiments/uplift-queries.ts';
import { netRevenueSql } from '../../../src/ledger/money/ngr-sql.ts';
import { openCampaignFixture, type CampaignFixture } from '../campaigns/campaign-fixture.ts';
import { BEFORE_MS, storeCampaign, WINDOW_MS, type Player } from './stored-campaign.ts';

// Exact sums of both arms against a count of the same events in JavaScript.

let campaigns: CampaignFixture;
beforeAll(async () => {
  campaigns = await openCampaignFixture();
});
afterAll(() => campaigns?.fixture.close());

function sumOf(players: readonly Player[], of: (player: Player) => bigint): string {
  return String(players.reduce((sum, player) => sum + of(player), 0n));
}

it('sums exactly what a count of the same events gives', async () => {
  const campaign_id = randomUUID();
  const variants = [randomUUID(), randomUUID()];
  const { tenant } = campaigns;
  const { clickhouse } = campaigns.fixture.platform;
  const players = await storeCampaign({ clickhouse }, tenant, campaign_id, variants, 400);
  const population = populationOfCampaign(campaign_id);
  const until_ms = Date.now();
  const counted = await countArms(clickhouse, tenant, population, until_ms);
  const arms = [HELD_OUT, ...variants].toSorted();
  expect(counted.map(({ arm, players: many }) => [arm, Number(many)])).toEqual(
    arms.map((arm) => [arm, players.filter((player) => player.arm === arm).length]),
  );
  const measures: Measures = {
    population,
    until_ms,
    first_ms: Math.min(...counted.map((arm) => Number(arm.first_ms))),
    last_ms: Math.max(...counted.map((arm) => Number(arm.last_ms))),
    window_ms: WINDOW_MS,
    before_ms: BEFORE_MS,
    goal: { event: 'deposit_confirmed', where: 'true', params: {} },
    ngr: netRevenueSql({ bonus_cost: 'feed', deductions: [] }),
  };
  const cap = BigInt((await selectCap(clickhouse, tenant, measures)) ?? 0);
  const positive = players.map(({ x }) => x).filter((x) => x > 0n);
  expect(positive).toContain(cap);
  expect(positive.filter((x) => x > cap).length).toBeLessThanOrEqual(Math.ceil(positive.length * 0.006));
  const sums = await sumArms(clickhouse, tenant, measures, String(cap));
  const cut = (value: bigint) => (value < cap ? value : cap);
  for (const [i, arm] of arms.entries()) {
    const of = players.filter((player) => player.arm === arm);
    expect(sums[i]).toEqual({
      arm,
      players: String(of.length),
      converted: String(of.filter(({ converted }) => converted).length),
      with_value: String(of.filter(({ y }) => y !== 0n).length),
      cut: String(of.filter(({ y }) => y > cap).length),
      exclusions: String(of.filter(({ excluded }) => excluded).length),
      limits_reached: '0',
      cooldowns: '0',
      y: sumOf(of, ({ y }) => y),
      y2: sumOf(of, ({ y }) => y * y),
      y3: sumOf(of, ({ y }) => y * y * y),
      x: sumOf(of, ({ x }) => x),
      x2: sumOf(of, ({ x }) => x * x),
      xy: sumOf(of, ({ x, y }) => x * y),
      cut_y: sumOf(of, ({ y }) => cut(y)),
      cut_y2: sumOf(of, ({ y }) => cut(y) ** 2n),
      cut_y3: sumOf(of, ({ y }) => cut(y) ** 3n),
      cut_x: sumOf(of, ({ x }) => cut(x)),
      cut_x2: sumOf(of, ({ x }) => cut(x) ** 2n),
      cut_xy: sumOf(of, ({ x, y }) => cut(x) * cut(y)),
    });
  }
  const values = await selectValues(clickhouse, tenant, measures);
  expect(values.reduce((sum, value) => sum + Number(value.players), 0)).toBe(400);
});
