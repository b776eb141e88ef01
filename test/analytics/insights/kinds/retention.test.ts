import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Amount } from '../../../../src/analytics/insights/kinds/events-queries.ts';
import { moneyAmount } from '../../../../src/analytics/insights/kinds/amount-queries.ts';
import {
  countReturns,
  listReturned,
  type Periods,
  type Retention,
  type RetentionCell,
  type RetentionRow,
} from '../../../../src/analytics/insights/kinds/retention-queries.ts';
import { groupBy } from '../../../../src/platform/group-by.ts';
import { nextLocal, startOfLocal } from '../../../../src/platform/local-intervals.ts';
import { TimeZone } from '../../../../src/platform/time-zone.ts';
import type { ProjectRef } from '../../../../src/tenants/project-ref.ts';
import { readPurchases } from '../../../../scripts/cdnow.ts';
import {
  byId,
  chosen,
  Draw,
  drawPlayers,
  everyone,
  newProject,
  openKinds,
  type KnownEvent,
  type KnownPlayer,
  type Kinds,
} from './kinds-fixture.ts';

const DAY_MS = 86_400_000;
const CELLS = 200;

let kinds: Kinds;
beforeAll(async () => {
  kinds = await openKinds();
}, 60_000);
afterAll(() => kinds?.close());

function startsOf(
  zone: TimeZone,
  interval: 'day' | 'week' | 'month',
  from_ms: number,
  count: number,
): number[] {
  const starts = [startOfLocal(zone, interval, from_ms)];
  while (starts.length < count) starts.push(nextLocal(zone, interval, starts.at(-1) ?? from_ms));
  return starts;
}

function count(project: ProjectRef, retention: Retention): Promise<RetentionRow[]> {
  return kinds.ask<RetentionRow>(project, countReturns(retention, everyone()));
}

it('finds the customers of CDNOW, who came back, and on how many days', async () => {
  const project = newProject();
  const purchases = await readPurchases();
  const ids = new Map(
    [...new Set(purchases.map(({ customer_id }) => customer_id))].map((id) => [id, randomUUID()]),
  );
  const first_seen = Date.UTC(1997, 0, 1);
  const players = [...ids.values()].map((player_id): KnownPlayer => ({
    player_id,
    is_deleted: false,
    first_seen_ms: first_seen,
    tier: null,
  }));
  const events = purchases.map(({ customer_id, date, amount_cents }): KnownEvent => ({
    player_id: ids.get(customer_id) ?? '',
    event: 'deposit_confirmed',
    at_ms: Date.parse(`${date}T12:00:00Z`),
    amount: amount_cents,
  }));
  await kinds.store(project, players, events);
  const zone = zoneOf('UTC');
  // The first purchases are of the first twelve weeks; the record ends after two times 39 weeks.
  const days = startsOf(zone, 'day', first_seen, 2 * 39 * 7);
  const retention: Retention = {
    starts_ms: days.slice(0, 84),
    end_ms: days[84] ?? 0,
    cohort: chosen('deposit_confirmed'),
    is_of_players: true,
    returns: ['deposit_confirmed'],
    values: [moneyAmount('deposits', 'feed', 'value')],
    periods: { mode: 'calendar', starts_ms: days, end_ms: (days.at(-1) ?? 0) + DAY_MS },
  };
  const rows = await count(project, retention);
  const total = (some: readonly RetentionRow[]) =>
    some.reduce((sum, { players }) => sum + Number(players), 0);
  const returns = rows.filter(({ cohort, period }) => period !== null && period !== cohort);
  const half_ms = days[39 * 7] ?? 0;
  expect(total(rows.filter(({ period }) => period === null))).toBe(2_357);
  expect(total(returns.filter(({ period }) => Number(period) < half_ms))).toBe(2_457);
  expect(total(returns.filter(({ period }) => Number(period) >= half_ms))).toBe(1_882);
  const money = rows.reduce((sum, { sums }) => sum + BigInt(sums[0] ?? '0'), 0n);
  expect(money).toBe(purchases.reduce((sum, { amount_cents }) => sum + BigInt(amount_cents), 0n));
  const whole: Retention = {
    ...retention,
    starts_ms: [first_seen],
    periods: { mode: 'rolling', length_ms: DAY_MS, count: 1 },
  };
  const members: RetentionCell = {
    cohort: { from_ms: first_seen, to_ms: whole.end_ms },
    period: undefined,
    of: 'players',
  };
  expect(await list(project, whole, members)).toHaveLength(2_357);
  // From the day after the first purchase up to the end of the first half, in one period.
  const back = new Set<string>();
  for (const [cohort, of_cohort] of groupBy(returns, ({ cohort }) => cohort)) {
    if (!of_cohort.some(({ period }) => Number(period) < half_ms)) continue;
    const cell: RetentionCell = {
      cohort: { from_ms: Number(cohort), to_ms: Number(cohort) + DAY_MS },
      period: { from_ms: Number(cohort) + DAY_MS, to_ms: half_ms },
      of: 'players',
    };
    (await list(project, retention, cell)).forEach(([id]) => back.add(id));
  }
  expect(back.size).toBe(946);
}, 120_000);

async function list(
  project: ProjectRef,
  retention: Retention,
  cell: RetentionCell,
): Promise<[string, string][]> {
  const rows = await kinds.ask<{ player_id: string; value: string }>(
    project,
    listReturned(retention, cell, everyone()),
  );
  return byId(rows.map(({ player_id, value }): [string, string] => [player_id, value]));
}

const EVENTS = ['login', 'signup', 'deposit_confirmed', 'bet_placed', 'bet_settled', 'balance_credited'];
const RETURNS = [['login', 'deposit_confirmed'], ['deposit_confirmed'], ['bet_placed']];
const MONEY = ['deposits', 'ggr', 'ngr'] as const;

/** What an event adds, by code that shares nothing with the statement. */
function addsOf(name: (typeof MONEY)[number], { event, amount, stake = 0, payout = 0 }: KnownEvent): bigint {
  if (name === 'deposits') return event === 'deposit_confirmed' ? BigInt(amount ?? 0) : 0n;
  if (event === 'bet_placed' || event === 'bet_settled') return BigInt(stake) - BigInt(payout);
  return name === 'ngr' && event === 'balance_credited' ? -BigInt(stake) : 0n;
}

function isOf(name: (typeof MONEY)[number], { event }: KnownEvent): boolean {
  if (name === 'deposits') return event === 'deposit_confirmed';
  return event.startsWith('bet_') || (name === 'ngr' && event === 'balance_credited');
}

function drawEvent(draw: Draw, player_id: string, from_ms: number, length_ms: number): KnownEvent {
  const event = draw.of(EVENTS);
  const at_ms = from_ms + draw.below(length_ms);
  if (event === 'deposit_confirmed') return { player_id, event, at_ms, amount: draw.below(10_000) };
  if (event.startsWith('bet_'))
    return { player_id, event, at_ms, stake: draw.below(500), payout: draw.below(900) };
  return event === 'balance_credited'
    ? { player_id, event, at_ms, stake: draw.below(100) }
    : { player_id, event, at_ms };
}

it.each(['America/New_York', 'Pacific/Auckland'])(
  'counts and lists as brute force does where clocks change, in %s',
  async (name) => {
    const draw = new Draw();
    const zone = zoneOf(name);
    const project = newProject();
    // Clocks change in March and November in New York, in April and September in Auckland.
    const from_ms = Date.UTC(2026, 1, 20);
    const length_ms = 75 * DAY_MS;
    const players = drawPlayers(draw, 1_500, () => from_ms);
    const events = players.flatMap(({ player_id }) =>
      Array.from({ length: draw.of([0, 1, 3, 8, 20]) }, () => drawEvent(draw, player_id, from_ms, length_ms)),
    );
    await kinds.store(project, players, events);
    await kinds.store(
      { ...project, project_id: newProject().project_id },
      players.slice(0, 200),
      events.slice(0, 400),
    );
    const left = players.filter(({ is_deleted }) => !is_deleted);
    const of_players = groupBy(events, ({ player_id }) => player_id);
    for (const mode of ['calendar', 'rolling'] as const)
      for (const interval of ['day', 'week'] as const) {
        const cohorts = interval === 'day' ? 20 : 6;
        const starts = startsOf(zone, interval, from_ms + 7 * DAY_MS, 2 * cohorts + 1);
        const length_of = interval === 'day' ? DAY_MS : 7 * DAY_MS;
        const cohort = draw.of(['deposit_confirmed', 'signup', 'bet_placed']);
        const money = draw.of(MONEY);
        const returns = draw.of(RETURNS);
        const amount: Amount = moneyAmount(money, 'feed', 'value');
        const periods: Periods =
          mode === 'calendar'
            ? { mode, starts_ms: starts.slice(0, -1), end_ms: starts.at(-1) ?? 0 }
            : { mode, length_ms: length_of, count: cohorts };
        const retention: Retention = {
          starts_ms: starts.slice(0, cohorts),
          end_ms: starts[cohorts] ?? 0,
          cohort: chosen(cohort),
          is_of_players: cohort === 'deposit_confirmed' && draw.of([true, false]),
          returns,
          values: [amount],
          periods,
        };
        const periodOf = (at_ms: number, first_ms: number) =>
          mode === 'calendar'
            ? starts.findLastIndex((start_ms) => start_ms <= at_ms)
            : Math.floor((at_ms - first_ms) / length_of);
        const last = mode === 'calendar' ? starts.length - 2 : cohorts - 1;
        /** By `cohort period`: the players with their numbers of events that are returns, and those with money. */
        const expected = new Map<string, { returned: Map<string, bigint>; paying: Map<string, bigint> }>();
        const sizes = new Map<number, string[]>();
        for (const { player_id } of left) {
          const own = of_players.get(player_id) ?? [];
          const first_ms = Math.min(...own.filter(({ event }) => event === cohort).map(({ at_ms }) => at_ms));
          const of = starts.findLastIndex((start_ms) => start_ms <= first_ms);
          if (of < 0 || of >= cohorts || first_ms >= retention.end_ms) continue;
          sizes.set(of, [...(sizes.get(of) ?? []), player_id]);
          for (const event of own.filter(({ at_ms }) => at_ms >= first_ms)) {
            const n = periodOf(event.at_ms, first_ms);
            if (n > last) continue;
            const key = `${of} ${n}`;
            const cell = expected.get(key) ?? { returned: new Map(), paying: new Map() };
            expected.set(key, cell);
            if (returns.includes(event.event))
              cell.returned.set(player_id, (cell.returned.get(player_id) ?? 0n) + 1n);
            if (isOf(money, event))
              cell.paying.set(player_id, (cell.paying.get(player_id) ?? 0n) + addsOf(money, event));
          }
        }
        /** What each member of a cohort has brought in all periods. */
        const paidBy = (of: number) => {
          const sums = new Map<string, bigint>();
          for (const [key, { paying }] of expected)
            if (key.startsWith(`${of} `))
              for (const [id, value] of paying) sums.set(id, (sums.get(id) ?? 0n) + value);
          return sums;
        };
        const rows = await count(project, retention);
        const numberOf = (start: string) => starts.indexOf(Number(start));
        const found = rows
          .map(({ cohort, period, players, value_players, sums }) =>
            period === null
              ? `${numberOf(cohort)} size ${players}`
              : `${numberOf(cohort)} ${mode === 'calendar' ? numberOf(period) : period} ${players} ${value_players} ${sums[0]}`,
          )
          .filter((text) => !text.endsWith(' 0 0 0'))
          .sort();
        const wanted = [
          ...[...sizes].map(([of, ids]) => `${of} size ${ids.length}`),
          ...[...expected].map(([key, { returned, paying }]) => {
            const sum = [...paying.values()].reduce((all, one) => all + one, 0n);
            return `${key} ${returned.size} ${paying.size} ${sum}`;
          }),
        ].filter((text) => !text.endsWith(' 0 0 0'));
        expect(found).toEqual(wanted.sort());
        for (let i = 0; i < CELLS / 8; i++) {
          const of = draw.below(cohorts);
          const n = mode === 'calendar' ? of + draw.below(cohorts) : draw.below(cohorts);
          const what = draw.of(['players', 'value'] as const);
          const cell = expected.get(`${of} ${n}`);
          const all = (what === 'players' ? cell?.returned : cell?.paying) ?? new Map<string, bigint>();
          const meant: RetentionCell = {
            cohort: { from_ms: starts[of] ?? 0, to_ms: starts[of + 1] ?? 0 },
            period: mode === 'calendar' ? { from_ms: starts[n] ?? 0, to_ms: starts[n + 1] ?? 0 } : n,
            of: what,
          };
          const listed = byId([...all].map(([id, value]): [string, string] => [id, String(value)]));
          expect(await list(project, retention, meant)).toEqual(listed);
          // The same for every period of a cohort.
          if (i >= 3) continue;
          const whole = await list(project, retention, { ...meant, period: undefined });
          if (what === 'players') expect(whole.map(([id]) => id)).toEqual((sizes.get(of) ?? []).toSorted());
          else expect(whole).toEqual(byId([...paidBy(of)].map(([id, value]) => [id, String(value)])));
        }
      }
  },
  180_000,
);

function zoneOf(name: string): TimeZone {
  const zone = TimeZone.named(name);
  if (zone === undefined) throw new Error(`there is no zone ${name}`);
  return zone;
}
