import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
import { BEFORE_MS, storeCampaign, WINDOW_MS, type Player, type StoredEvent } from './stored-campaign.ts';

// NGR of an effect as the project defines it, against a count of the same events in JavaScript, which shares no code with it.

let campaigns: CampaignFixture;
let players: Player[];
const campaign_id = randomUUID();
const variant = randomUUID();
beforeAll(async () => {
  campaigns = await openCampaignFixture();
  const { clickhouse } = campaigns.fixture.platform;
  players = await storeCampaign({ clickhouse }, campaigns.tenant, campaign_id, [variant], 300);
});
afterAll(() => campaigns?.fixture.close());

type Settings = Parameters<typeof netRevenueSql>[0];

const isCasino = ({ event }: StoredEvent) => event === 'bet_settled';
const isSport = ({ event }: StoredEvent) => event === 'sport_bet_settled';
const isBet = (one: StoredEvent) => isCasino(one) || isSport(one);

function beforeDeductions(one: StoredEvent, source: Settings['bonus_cost']): bigint {
  const { event, stake, payout, bonus_stake, bonus_payout, released } = one;
  if (event === 'balance_debited') return stake;
  if (source === 'grants') return isBet(one) ? stake - payout : -released;
  if (event === 'balance_credited') return -stake;
  return isBet(one) ? stake - payout - bonus_stake + bonus_payout : 0n;
}

function basisOf(one: StoredEvent, { basis, product }: Settings['deductions'][number]): bigint {
  if (basis === 'deposits') return one.deposited;
  const counts = product === 'casino' ? isCasino(one) : product === 'sport' ? isSport(one) : isBet(one);
  if (!counts) return 0n;
  return basis === 'stakes' ? one.stake : one.stake - one.payout;
}

const DEDUCTIONS: Settings['deductions'] = [
  { name: 'duty', basis: 'ggr', product: 'casino', bp: 1_533 },
  { name: 'levy', basis: 'stakes', product: 'sport', bp: 7 },
  { name: 'payments', basis: 'deposits', bp: 249 },
  { name: 'nothing', basis: 'ggr', bp: 0 },
];

const settings: [string, Settings][] = [
  ['the feed', { bonus_cost: 'feed', deductions: [] }],
  ['grants', { bonus_cost: 'grants', deductions: [] }],
  ['the feed, less deductions', { bonus_cost: 'feed', deductions: DEDUCTIONS }],
  ['grants, less deductions', { bonus_cost: 'grants', deductions: DEDUCTIONS }],
];

describe.each(settings)('bonus cost of %s', (_name, { bonus_cost, deductions }) => {
  // What a player brought in ten-thousandths of a cent where there are deductions: whole numbers.
  const scale = deductions.length === 0 ? 1n : 10_000n;
  const valueOf = (one: StoredEvent) =>
    deductions.reduce(
      (left, deduction) => left - BigInt(deduction.bp) * basisOf(one, deduction),
      scale * beforeDeductions(one, bonus_cost),
    );
  const sum = (values: readonly bigint[]) => values.reduce((all, value) => all + value, 0n);
  const inWindow = ({ events }: Player) => events.filter(({ is_in_window }) => is_in_window);
  const yOf = (player: Player) => sum(inWindow(player).map(valueOf));
  const xOf = ({ events }: Player) => sum(events.filter((one) => !one.is_in_window).map(valueOf));

  it('is summed exactly, of each player and of the arms', async () => {
    const { tenant } = campaigns;
    const { clickhouse } = campaigns.fixture.platform;
    const population = populationOfCampaign(campaign_id);
    const until_ms = Date.now();
    const counted = await countArms(clickhouse, tenant, population, until_ms);
    const measures: Measures = {
      population,
      until_ms,
      first_ms: Math.min(...counted.map((arm) => Number(arm.first_ms))),
      last_ms: Math.max(...counted.map((arm) => Number(arm.last_ms))),
      window_ms: WINDOW_MS,
      before_ms: BEFORE_MS,
      goal: null,
      ngr: netRevenueSql({ bonus_cost, deductions }),
    };
    expect(measures.ngr.scale).toBe(scale);
    const cap = BigInt((await selectCap(clickhouse, tenant, measures)) ?? 0);
    expect(players.map(xOf)).toContain(cap);
    const cut = (value: bigint) => (value < cap ? value : cap);
    const sums = await sumArms(clickhouse, tenant, measures, String(cap));
    expect(sums.map(({ arm }) => arm)).toEqual([HELD_OUT, variant].toSorted());
    for (const found of sums) {
      const of = players.filter(({ arm }) => arm === found.arm);
      const sumOf = (value: (player: Player) => bigint) => String(sum(of.map(value)));
      expect(found).toMatchObject({
        players: String(of.length),
        with_value: sumOf((player) => (yOf(player) === 0n ? 0n : 1n)),
        y: sumOf(yOf),
        y2: sumOf((player) => yOf(player) ** 2n),
        y3: sumOf((player) => yOf(player) ** 3n),
        x: sumOf(xOf),
        x2: sumOf((player) => xOf(player) ** 2n),
        xy: sumOf((player) => xOf(player) * yOf(player)),
        cut_y: sumOf((player) => cut(yOf(player))),
        cut_xy: sumOf((player) => cut(xOf(player)) * cut(yOf(player))),
      });
      const events = of.flatMap(inWindow);
      expect(found.parts).toEqual(
        deductions.length === 0
          ? undefined
          : [
              String(sum(events.map((one) => beforeDeductions(one, bonus_cost)))),
              ...deductions.map((deduction) => String(sum(events.map((one) => basisOf(one, deduction))))),
            ],
      );
    }
    const values = await selectValues(clickhouse, tenant, measures);
    const expected = players.map((player) => `${player.arm} ${yOf(player)} ${xOf(player)}`);
    const found = values.flatMap(({ arm, y, x, players: many }) =>
      Array.from({ length: Number(many) }, () => `${arm} ${y} ${x}`),
    );
    expect(found.toSorted()).toEqual(expected.toSorted());
  });
});
