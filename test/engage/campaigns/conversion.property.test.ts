import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countConversions, countRecipients } from '../../../src/engage/campaigns/stats-queries.ts';
import type { CampaignRef } from '../../../src/engage/campaigns/queries.ts';
import { erfc } from '../../../src/engage/experiments/statistics/distributions.ts';
import { compareVariants, twoProportionP } from '../../../src/engage/campaigns/significance.ts';
import { openTestClickHouse } from '../../engines/wiring.ts';
import { migrateClickHouse } from '../../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import { runs } from '../../engines/effort.ts';

const RUNS = runs(60);
/** The number of histories that are stored together: an insert takes longer than the query. */
const AT_ONCE = 10;
const BEGIN_MS = Date.UTC(2026, 3, 1);
const DAY_MS = 24 * 3_600_000;
const GOALS = ['deposit_confirmed', 'custom_goal'] as const;
/** Among them what takes money back: a deposit that was reversed has happened all the same, and so has its conversion. */
const OTHERS = ['login', 'deposit_reversed'] as const;
const PROPERTIES = ['amount', 'payout', 'points', "po'ints", null] as const;
/** The survivors; each has a second id, that of a player merged into it. */
const PLAYERS = Array.from({ length: 6 }, () => ({ id: randomUUID(), former_id: randomUUID() }));
const VARIANTS = Array.from({ length: 3 }, () => randomUUID());

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-conversions-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

interface Send {
  player: number;
  is_former: boolean;
  variant: number;
  sent_ms: number | null;
}
interface Happening {
  player: number;
  is_former: boolean;
  event: string;
  at_ms: number;
}
interface History {
  sends: Send[];
  events: Happening[];
  days: number;
  goal: (typeof GOALS)[number];
  property: (typeof PROPERTIES)[number];
}

const player = { player: fc.nat(PLAYERS.length - 1), is_former: fc.boolean() };
const instant = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom(-1, 0, 1, 3_600_000))
  .map(([day, off_ms]) => BEGIN_MS + day * DAY_MS + off_ms);
const history: fc.Arbitrary<History> = fc.record({
  sends: fc.array(
    fc.record({
      ...player,
      variant: fc.nat(VARIANTS.length - 1),
      sent_ms: fc.option(instant, { nil: null, freq: 8 }),
    }),
    { minLength: 1, maxLength: 25 },
  ),
  events: fc.array(fc.record({ ...player, event: fc.constantFrom(...GOALS, ...OTHERS), at_ms: instant }), {
    maxLength: 40,
  }),
  days: fc.integer({ min: 1, max: 4 }),
  goal: fc.constantFrom(...GOALS),
  property: fc.constantFrom(...PROPERTIES),
});

/**
 * The value of an event in ten-thousandths. Events of one player at one moment have the same value, so it does not
 * matter which of them is the first.
 */
function worthOf({ player, at_ms }: Happening, property: History['property']): bigint {
  const n = BigInt((Math.abs(at_ms) + player * 7_919) % 9_973);
  if (property === null || n % 5n === 0n) return 0n;
  if (property === 'amount') return 9_007_199_254_740_993n * 10_000n + n * 10_000n;
  if (property === 'payout') return n * 10_000n;
  return property === 'points' ? n : -n * 100n;
}

function decimalText(ten_thousandths: bigint): string {
  const digits = String(ten_thousandths < 0n ? -ten_thousandths : ten_thousandths).padStart(5, '0');
  const fraction = digits.slice(-4).replace(/0+$/, '');
  const sign = ten_thousandths < 0n ? '-' : '';
  return `${sign}${digits.slice(0, -4)}${fraction === '' ? '' : `.${fraction}`}`;
}

function expected({ sends, events, days, goal, property }: History) {
  return VARIANTS.map((variant_id, v) => {
    let [recipients, conversions, value] = [0, 0, 0n];
    for (const [player] of PLAYERS.entries()) {
      const times = sends
        .filter((one) => one.player === player && one.variant === v)
        .flatMap(({ sent_ms }) => (sent_ms === null ? [] : [sent_ms]));
      if (times.length === 0) continue;
      recipients++;
      const [first] = events
        .filter((one) => one.player === player && one.event === goal)
        .filter(({ at_ms }) => times.some((sent_ms) => at_ms >= sent_ms && at_ms < sent_ms + days * DAY_MS))
        .sort((a, b) => a.at_ms - b.at_ms);
      if (first === undefined) continue;
      conversions++;
      value += worthOf(first, property);
    }
    return { variant_id, recipients, conversions, value: decimalText(value) };
  }).filter(({ recipients }) => recipients > 0);
}

const idOf = ({ player, is_former }: { player: number; is_former: boolean }) => {
  const of_player = PLAYERS[player];
  return (is_former ? of_player?.former_id : of_player?.id) ?? '';
};

/** Stores the histories, each in a project of its own, with as few inserts as for a single one. */
async function store(histories: readonly History[]): Promise<CampaignRef[]> {
  const all = histories.map(linesOf);
  const insert = async (table: string, lines: string[]) => {
    if (lines.length > 0) await clickhouse.insertLines(table, lines, randomUUID());
  };
  await insert(
    'player_aliases',
    all.flatMap(({ aliases }) => aliases),
  );
  await clickhouse.command('system reload dictionary player_alias');
  await insert(
    'message_sends',
    all.flatMap(({ earlier }) => earlier),
  );
  await insert(
    'message_sends',
    all.flatMap(({ sends }) => sends),
  );
  // Inserted twice, as after a repeated block: the two rows are one event.
  for (let n = 0; n < 2; n++)
    await insert(
      'events',
      all.flatMap(({ events }) => events),
    );
  return all.map(({ ref }) => ref);
}

function linesOf({ sends, events, property }: History) {
  const ref = { tenant_id: randomUUID(), project_id: randomUUID(), campaign_id: randomUUID() };
  const { campaign_id, ...project } = ref;
  const line = (row: Record<string, unknown>) => JSON.stringify({ ...project, ...row });
  const aliases = PLAYERS.map(({ id, former_id }) => ({
    player_id: former_id,
    into_player_id: id,
    revision: 1,
  }));
  const rows = sends.map((send) => ({
    send_id: randomUUID(),
    campaign_id,
    variant_id: VARIANTS[send.variant],
    player_id: idOf(send),
    channel: 'email',
    enqueued_at: BEGIN_MS,
    sent_at: send.sent_ms,
  }));
  // Rows of another campaign, which must not count.
  const foreign = rows
    .slice(0, 3)
    .map((row) => ({ ...row, send_id: randomUUID(), campaign_id: randomUUID() }));
  return {
    ref,
    aliases: aliases.map(line),
    earlier: rows.map((row) => line({ ...row, status: 'failed', sent_at: null, revision: 1 })),
    sends: [...rows.map((row) => ({ ...row, status: 'sent', revision: 2 })), ...foreign].map(line),
    events: events.map((one) => eventLine(project, one, property)),
  };
}

/** Builds the JSON by hand, because the numbers may exceed what a JavaScript number holds. */
function eventLine(
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  one: Happening,
  property: History['property'],
): string {
  const worth = worthOf(one, property);
  const is_money = property === 'amount' || property === 'payout';
  const text = decimalText(worth);
  // What the ledger does not have counts as it was sent, as a number or as digits, unless it is of a currency.
  const is_sent = is_money && one.event === 'custom_goal';
  const no_number = is_sent ? '5,"currency":"KRW"' : '"12"';
  const number = is_sent && one.at_ms % 2 === 0 ? `"${text}"` : text;
  const properties =
    property === null || (is_money && !is_sent)
      ? '{}'
      : `{${JSON.stringify(property)}:${worth === 0n ? no_number : number}}`;
  const base = worth === 0n || is_sent ? 'null' : text;
  return (
    `{"tenant_id":"${tenant_id}","project_id":"${project_id}","event":"${one.event}",` +
    `"player_id":"${idOf(one)}","occurred_at":${one.at_ms},"received_at":${one.at_ms},` +
    `"ingestion_id":"${randomUUID()}","event_index":0,"base_amount":${property === 'amount' ? base : 'null'},` +
    `"base_payout":${property === 'payout' ? base : 'null'},"properties":${properties}}`
  );
}

/** Expects the same conversions and recipients of a stored history as computed from the drawn one. */
async function compare(drawn: History, ref: CampaignRef): Promise<void> {
  const sorted = (rows: { variant_id: string }[]) =>
    rows.sort((a, b) => (a.variant_id < b.variant_id ? -1 : 1));
  const goal = { event: drawn.goal, window_ms: drawn.days * DAY_MS, value_property: drawn.property };
  const counted = await countConversions(clickhouse, ref, goal);
  const wanted = sorted(
    expected(drawn).map((row) => ({
      ...row,
      recipients: String(row.recipients),
      conversions: String(row.conversions),
    })),
  );
  expect(sorted(counted)).toEqual(wanted);
  const recipients = await countRecipients(clickhouse, ref);
  expect(sorted(recipients)).toEqual(wanted.map((row) => ({ ...row, conversions: '0', value: '0' })));
}

it(
  'conversions of random histories agree with an independent count',
  async () => {
    const histories = fc.array(history, { minLength: AT_ONCE, maxLength: AT_ONCE });
    const property = fc.asyncProperty(histories, async (drawn) => {
      for (const [i, ref] of (await store(drawn)).entries()) await compare(drawn[i] as History, ref);
    });
    await fc.assert(property, { numRuns: Math.ceil(RUNS / AT_ONCE) });
  },
  60_000 + RUNS * 1_000,
);

describe('significance', () => {
  // Values of Abramowitz and Stegun, table 7.1, and values beyond the ends of that table.
  it.each([
    [0, 1],
    [0.02, 0.977_435_425_30],
    [0.5, 0.479_500_122_19],
    [1, 0.157_299_207_05],
    [1.5, 0.033_894_853_52],
    [2, 0.004_677_734_98],
    [2.999_999, 2.209_063_624e-5],
    [3, 2.209_049_699_858_544e-5],
    [4, 1.541_725_790_028_002e-8],
    [5, 1.537_459_794_428_035e-12],
    [40, 0],
  ])('erfc(%d)', (x, wanted) => {
    expect(Math.abs(erfc(x) - wanted)).toBeLessThan(1e-10);
    if (x >= 3) expect(erfc(x)).toBeCloseTo(wanted, 14);
  });

  /** The two-sided tail probability, by Simpson's rule over the density of the normal distribution. */
  function tails(z: number): number {
    const [steps, end] = [20_000, z + 12];
    const width = (end - z) / steps;
    let sum = 0;
    for (let i = 0; i <= steps; i++) {
      const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
      sum += weight * Math.exp(-((z + i * width) ** 2) / 2);
    }
    return (2 * sum * width) / 3 / Math.sqrt(2 * Math.PI);
  }

  it('is that of two proportions, whichever comes first', () => {
    const count = fc.integer({ min: 1, max: 100_000 });
    const arm = fc
      .tuple(count, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([recipients, share]) => ({ recipients, conversions: Math.round(recipients * share) }));
    fc.assert(
      fc.property(arm, arm, (a, b) => {
        const all = (a.conversions + b.conversions) / (a.recipients + b.recipients);
        const error = Math.sqrt(all * (1 - all) * (1 / a.recipients + 1 / b.recipients));
        const z = Math.abs(a.conversions / a.recipients - b.conversions / b.recipients) / error;
        const wanted = error === 0 ? 1 : tails(z);
        expect(Math.abs(twoProportionP(a, b) - wanted)).toBeLessThan(1e-9);
        expect(twoProportionP(b, a)).toBe(twoProportionP(a, b));
      }),
      { numRuns: runs(200) },
    );
    expect(
      twoProportionP({ recipients: 1_000, conversions: 200 }, { recipients: 1_000, conversions: 250 }),
    ).toBeCloseTo(0.007_42, 5);
  });

  const outcome = (variant_id: string, recipients: number, conversions: number) => {
    return { variant_id, recipients, conversions };
  };
  const none = { winner_variant_id: null, significance: null };

  it.each([
    ['nothing', [], none],
    ['one variant', [outcome('a', 500, 100)], none],
    ['a sample of 29', [outcome('a', 30, 1), outcome('b', 29, 29)], none],
  ])('%s has no winner', (_title, outcomes, wanted) => {
    expect(compareVariants(outcomes)).toEqual(wanted);
  });

  it('compares the best two of the variants with at least 30 recipients', () => {
    const { winner_variant_id, significance } = compareVariants([
      outcome('a', 30, 3),
      outcome('b', 29, 29),
      outcome('c', 60, 12),
      outcome('d', 30, 0),
    ]);
    expect(winner_variant_id).toBe('c');
    expect(significance?.p_value).toBe(twoProportionP(outcome('', 60, 12), outcome('', 30, 3)));
  });

  it('a tie has no winner, whatever the sample sizes', () => {
    const compared = compareVariants([outcome('a', 30, 10), outcome('b', 90, 30), outcome('c', 40, 1)]);
    expect(compared).toEqual({
      winner_variant_id: null,
      significance: { test: 'two_proportion_z', p_value: 1 },
    });
    const nobody = compareVariants([outcome('a', 30, 0), outcome('b', 90, 0)]);
    expect(nobody).toEqual({
      winner_variant_id: null,
      significance: { test: 'two_proportion_z', p_value: 1 },
    });
  });
});
