import { afterAll, beforeAll, expect, it } from 'vitest';
import { activeDays, moneyAmount } from '../../../../src/analytics/insights/kinds/amount-queries.ts';
import {
  listDistribution,
  QUANTILES,
  readDistribution,
  type Distribution,
  type DistributionCell,
  type DistributionRow,
} from '../../../../src/analytics/insights/kinds/distribution-queries.ts';
import type { Amount } from '../../../../src/analytics/insights/kinds/events-queries.ts';
import { groupBy } from '../../../../src/platform/group-by.ts';
import type { ProjectRef } from '../../../../src/tenants/project-ref.ts';
import {
  Draw,
  drawPlayers,
  everyone,
  newProject,
  openKinds,
  type KnownEvent,
  type Kinds,
} from './kinds-fixture.ts';

const DAY_MS = 86_400_000;
const SPAN = { from_ms: Date.UTC(2026, 5, 1), to_ms: Date.UTC(2026, 6, 1) };
const CELLS = 200;

let kinds: Kinds;
beforeAll(async () => {
  kinds = await openKinds();
}, 60_000);
afterAll(() => kinds?.close());

/** The values of the players as brute force finds them, the least first. */
async function fill(draw: Draw, project: ProjectRef, count: number): Promise<[string, bigint][]> {
  const players = drawPlayers(draw, count, () => SPAN.from_ms);
  const events = players.flatMap(({ player_id }) =>
    Array.from({ length: draw.of([0, 1, 2, 6]) }, (): KnownEvent => ({
      player_id,
      event: draw.of(['bet_placed', 'bet_settled', 'login']),
      at_ms: SPAN.from_ms - DAY_MS + draw.below(32 * DAY_MS),
      // Many players have equal values.
      stake: draw.below(4) * 100,
      payout: draw.below(3) * 150,
    })),
  );
  await kinds.store(project, players, events);
  const counted = events.filter(
    ({ event, at_ms }) => event !== 'login' && at_ms >= SPAN.from_ms && at_ms < SPAN.to_ms,
  );
  const left = new Set(players.filter(({ is_deleted }) => !is_deleted).map(({ player_id }) => player_id));
  return [...groupBy(counted, ({ player_id }) => player_id)]
    .filter(([player_id]) => left.has(player_id))
    .map(([player_id, own]): [string, bigint] => [
      player_id,
      own.reduce((sum, { stake = 0, payout = 0 }) => sum + BigInt(stake) - BigInt(payout), 0n),
    ])
    .sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0));
}

async function read(project: ProjectRef, distribution: Distribution): Promise<DistributionRow> {
  const [row] = await kinds.ask<DistributionRow>(project, readDistribution(distribution, everyone()));
  if (row === undefined) throw new Error('a distribution is one row');
  return row;
}

const sum = (values: readonly bigint[]) => values.reduce((all, one) => all + one, 0n);

it.each([0, 1, 9, 105, 3_000])(
  'is exact for %i players, and lists the players of its parts',
  async (count) => {
    const draw = new Draw(count);
    const project = newProject();
    const known = await fill(draw, project, count);
    const values = known.map(([, value]) => value);
    const amount: Amount = moneyAmount('ggr', 'feed', 'value');
    const n = values.length;
    const deciles = await read(project, { ...SPAN, amount, parts: { equal: 10 } });
    expect(deciles).toMatchObject({ players: String(n), value: String(sum(values)) });
    if (n > 0)
      expect(deciles.quantiles).toEqual(
        QUANTILES.map((share) => String(values[Math.floor((n * share) / 100)])),
      );
    const top = Math.ceil(n / 100);
    expect(deciles).toMatchObject({
      top_players: String(top),
      top_value: String(sum(values.slice(n - top))),
    });
    const ends = Array.from({ length: 11 }, (_, i) => Math.floor((n * i) / 10));
    const parts = ends.slice(1).map((to, i) => values.slice(ends[i], to));
    expect(deciles.part_players).toEqual(parts.map((part) => String(part.length)));
    expect(deciles.part_values).toEqual(parts.map((part) => String(sum(part))));
    const cuts = ['-150', '0', '100', '250'];
    const buckets = await read(project, { ...SPAN, amount, parts: { cuts } });
    const bounds = [undefined, ...cuts.map(BigInt), undefined];
    const cut = bounds.slice(1).map((to, i) => {
      const from = bounds[i];
      return values.filter(
        (value) => (from === undefined || value >= from) && (to === undefined || value < to),
      );
    });
    expect(buckets.part_players).toEqual(cut.map((part) => String(part.length)));
    expect(buckets.part_values).toEqual(cut.map((part) => String(sum(part))));
    if (n < 100) return;
    for (let i = 0; i < CELLS / 2; i++) {
      const first = 1 + draw.below(n);
      const last = first + draw.below(n - first + 1);
      const by_place = await list(project, amount, { first, last });
      expect(by_place.map(([, value]) => value)).toEqual(values.toReversed().slice(first - 1, last));
      const [from, to] = [draw.of([undefined, ...cuts]), draw.of([undefined, ...cuts])];
      const by_value = await list(project, amount, { from, to });
      const wanted = known.filter(
        ([, value]) =>
          (from === undefined || value >= BigInt(from)) && (to === undefined || value < BigInt(to)),
      );
      expect(by_value.map(([id]) => id).sort()).toEqual(wanted.map(([id]) => id).sort());
    }
    // Parts by place divide the players: nobody is in two.
    const tenths = ends.slice(1).map((to, i) => ({ first: n - to + 1, last: n - (ends[i] ?? 0) }));
    const ids = [];
    for (const cell of tenths) ids.push(...(await list(project, amount, cell)).map(([id]) => id));
    expect(ids.sort()).toEqual(known.map(([id]) => id).sort());
  },
  180_000,
);

async function list(
  project: ProjectRef,
  amount: Amount,
  cell: DistributionCell,
): Promise<[string, bigint][]> {
  const distribution = { ...SPAN, amount, parts: { equal: 10 } };
  const rows = await kinds.ask<{ player_id: string; value: string }>(
    project,
    listDistribution(distribution, cell, everyone()),
  );
  return rows
    .map(({ player_id, value }): [string, bigint] => [player_id, BigInt(value)])
    .sort(([, a], [, b]) => (a > b ? -1 : a < b ? 1 : 0));
}

it('gives quantiles as quantilesExact does, and counts days of activity once', async () => {
  const project = newProject();
  await fill(new Draw(7), project, 500);
  const days = '{days:Array(Int64)}';
  const starts = Array.from({ length: 30 }, (_, i) => SPAN.from_ms + i * DAY_MS);
  const distribution = { ...SPAN, amount: activeDays(days), parts: { equal: 10 } };
  const population = everyone('', '', { days: starts });
  const [row] = await kinds.ask<DistributionRow>(project, readDistribution(distribution, population));
  const listed = listDistribution(distribution, {}, everyone('', '', { days: starts }));
  const [exact] = await kinds.ask<{ quantiles: string[] }>(project, {
    sql: `select arrayMap(q -> toString(q), quantilesExact(${QUANTILES.map((share) => share / 100).join(', ')})(value)) as quantiles from (${listed.sql})`,
    params: listed.params,
  });
  expect(row?.quantiles).toEqual(exact?.quantiles);
  expect(Number(row?.quantiles.at(-1))).toBeLessThanOrEqual(6);
});
