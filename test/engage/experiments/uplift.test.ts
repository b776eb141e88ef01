import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SeededNumbers } from '../../../src/engage/experiments/statistics/permutation.ts';
import {
  countArms,
  HELD_OUT,
  populationOfCampaign,
  selectCap,
  selectValues,
  sumArms,
  type Measures,
} from '../../../src/engage/experiments/uplift-queries.ts';
import { openCampaignFixture, type CampaignFixture } from '../campaigns/campaign-fixture.ts';

// Exact sums of both arms, and the report over HTTP, against a count of the same events in JavaScript.

const DAY_MS = 86_400_000;
const WINDOW_MS = 7 * DAY_MS;
const BEFORE_MS = 28 * DAY_MS;
const DRAWN_MS = Date.now() - 20 * DAY_MS;

let campaigns: CampaignFixture;
beforeAll(async () => {
  campaigns = await openCampaignFixture();
});
afterAll(() => campaigns?.fixture.close());

interface Player {
  id: string;
  arm: string;
  at_ms: number;
  y: bigint;
  x: bigint;
  converted: boolean;
  excluded: boolean;
}

/** Stores players of a campaign with random events; returns what they come to. */
async function storeCampaign(campaign_id: string, variants: readonly string[], many: number) {
  const { tenant_id, project_id } = campaigns.tenant;
  const numbers = new SeededNumbers(many);
  const line = (row: Record<string, unknown>) => JSON.stringify({ tenant_id, project_id, ...row });
  const [sends, events]: [string[], string[]] = [[], []];
  const players = Array.from({ length: many }, (): Player => {
    const arm = numbers.below(4) === 0 ? HELD_OUT : (variants[numbers.below(variants.length)] ?? '');
    const at_ms = DRAWN_MS + numbers.below(DAY_MS);
    return { id: randomUUID(), arm, at_ms, y: 0n, x: 0n, converted: false, excluded: false };
  });
  for (const player of players) {
    const { id: player_id, arm, at_ms } = player;
    const is_held_out = arm === HELD_OUT;
    sends.push(
      line({
        player_id,
        send_id: randomUUID(),
        campaign_id,
        variant_id: is_held_out ? variants[0] : arm,
        channel: 'email',
        status: is_held_out ? 'failed' : 'sent',
        error_code: is_held_out ? 'SKIPPED_HOLDOUT' : null,
        enqueued_at: at_ms,
        assigned_at: at_ms,
        revision: 1,
      }),
    );
    for (let n = numbers.below(8); n > 0; n--) {
      // At the very edges of both windows, too.
      const edges = [-BEFORE_MS - 1, -BEFORE_MS, -1, 0, WINDOW_MS - 1, WINDOW_MS];
      const off_ms =
        numbers.below(2) === 0 ? (edges[numbers.below(6)] ?? 0) : numbers.below(40 * DAY_MS) - 30 * DAY_MS;
      const occurred_at = at_ms + off_ms;
      const kind = ['bet_settled', 'balance_credited', 'deposit_confirmed', 'self_exclusion_set'][
        numbers.below(4)
      ];
      const [stake, payout, bonus] = [numbers.below(1e9) + 5e15, numbers.below(1e9), numbers.below(1_000)];
      events.push(
        line({
          player_id,
          event: kind,
          occurred_at,
          received_at: occurred_at,
          ingestion_id: randomUUID(),
          event_index: 0,
          properties: {},
          stake_counted: stake,
          payout_counted: payout,
          bonus_stake_counted: bonus,
          bonus_payout_counted: 1,
        }),
      );
      const ngr =
        kind === 'bet_settled'
          ? BigInt(stake) - BigInt(payout) - BigInt(bonus) + 1n
          : kind === 'balance_credited'
            ? -BigInt(stake)
            : 0n;
      if (off_ms >= 0 && off_ms < WINDOW_MS) {
        player.y += ngr;
        player.converted ||= kind === 'deposit_confirmed';
        player.excluded ||= kind === 'self_exclusion_set';
      } else if (off_ms < 0 && off_ms >= -BEFORE_MS) player.x += ngr;
    }
  }
  const { clickhouse } = campaigns.fixture.platform;
  await clickhouse.insertLines('message_sends', sends, randomUUID());
  // Twice, as after a repeated block.
  for (let n = 0; n < 2; n++) await clickhouse.insertLines('events', events, randomUUID());
  return players;
}

function sumOf(players: readonly Player[], of: (player: Player) => bigint): string {
  return String(players.reduce((sum, player) => sum + of(player), 0n));
}

it('sums exactly what a count of the same events gives', async () => {
  const campaign_id = randomUUID();
  const variants = [randomUUID(), randomUUID()];
  const players = await storeCampaign(campaign_id, variants, 400);
  const { clickhouse } = campaigns.fixture.platform;
  const { tenant } = campaigns;
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

it('reports once what a broadcast has brought, and stays at it', async () => {
  const campaign_id = await campaigns.make({
    holdout_percent: 25,
    goal_event: 'deposit_confirmed',
    goal_attribution_days: 7,
  });
  const list = await campaigns.api('GET', `/v1/campaigns/${campaign_id}/variants`);
  const [variant] = list.body.data as unknown as { id: string }[];
  const players = await storeCampaign(campaign_id, [variant?.id ?? ''], 300);
  const ask = async () => {
    const answer = await campaigns.api('GET', `/v1/campaigns/${campaign_id}/uplift`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data as unknown as {
      is_final: boolean;
      held_out: { players: number; conversions: number };
      arms: {
        arm: string;
        players: number;
        verdict: { reason: string };
        rate_effect: { p_value: number | null; interval: { low: number; high: number } };
        money_effect: { method: string };
      }[];
    };
  };
  const before = await ask();
  const held_out = players.filter(({ arm }) => arm === HELD_OUT);
  expect(before).toMatchObject({
    looks: 'once',
    is_final: false,
    primary: 'rate',
    balance: { is_uneven: false },
    held_out: { players: held_out.length, conversions: held_out.filter(({ converted }) => converted).length },
    arms: [
      {
        arm: variant?.id,
        players: 300 - held_out.length,
        verdict: { decision: 'none', reason: 'window_open' },
        rate_effect: { p_value: null },
      },
    ],
  });
  await campaigns.setStatus(campaign_id, 'sent');
  const final = await ask();
  expect(final.is_final).toBe(true);
  expect(final.arms[0]?.rate_effect.p_value).toBeGreaterThan(0);
  expect(final.arms[0]?.money_effect.method).toBe('permutation');
  // Whoever is drawn later, what was said stays.
  await storeCampaign(campaign_id, [variant?.id ?? ''], 20);
  expect(await ask()).toEqual(final);
});
