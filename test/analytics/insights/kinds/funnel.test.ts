import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  countReached,
  labelsOfFirstEvents,
  labelsOfPlayers,
  listReached,
  type Funnel,
  type FunnelCell,
  type Labels,
  type ReachedRow,
} from '../../../../src/analytics/insights/kinds/funnel-queries.ts';
import type { EventChoice } from '../../../../src/analytics/insights/kinds/events-queries.ts';
import { groupBy } from '../../../../src/platform/group-by.ts';
import type { ProjectRef } from '../../../../src/tenants/project-ref.ts';
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

const PLAYERS = 10_000;
const CELLS = 200;
const EVENTS = ['login', 'page_view', 'deposit_confirmed', 'custom_a', 'custom_b'];
const START_MS = Date.UTC(2026, 0, 1);
const END_MS = START_MS + 60;
/** Events lie in these milliseconds, so that many have one time. */
const LENGTH_MS = 80;

/** A funnel, and which events its steps take, by code that shares nothing with the statement. */
interface Case {
  funnel: Funnel;
  takes: ((event: KnownEvent) => boolean)[];
}

let kinds: Kinds;
let project: ProjectRef;
let players: KnownPlayer[];
let of_players: Map<string, KnownEvent[]>;
const draw = new Draw();

beforeAll(async () => {
  kinds = await openKinds();
  project = newProject();
  players = drawPlayers(draw, PLAYERS, () => START_MS);
  const events = players.flatMap(({ player_id }) => drawEvents(player_id));
  await kinds.store(project, players, events);
  of_players = groupBy(events, ({ player_id }) => player_id);
  // The same players elsewhere.
  const foreign = players
    .slice(0, 500)
    .map(({ player_id }) => drawEvents(player_id))
    .flat();
  await kinds.store({ ...project, project_id: newProject().project_id }, players.slice(0, 500), foreign);
  await kinds.store({ ...project, tenant_id: newProject().tenant_id }, players.slice(0, 500), foreign);
}, 120_000);
afterAll(() => kinds?.close());

function drawEvents(player_id: string): KnownEvent[] {
  const count = draw.of([0, 1, 2, 4, 8, 12]);
  const events = Array.from({ length: count }, () => {
    const at_ms = START_MS - 5 + draw.below(LENGTH_MS);
    // Equal for events at one time, of which none is the first.
    const from = ['mail', 'search', 'link'][at_ms % 3] ?? '';
    return { player_id, event: draw.of(EVENTS), at_ms, properties: { n: draw.below(4), from } };
  });
  const [first] = events;
  return first !== undefined && draw.below(4) === 0 ? [...events, first] : events;
}

function drawCase(): Case {
  const steps = Array.from({ length: 2 + draw.below(4) }, () => {
    const event = draw.of(draw.below(2) === 0 ? EVENTS : EVENTS.slice(0, 2));
    const value = draw.below(3);
    return draw.below(3) === 0
      ? {
          choice: chosen(event, { property: 'n', value }),
          takes: (one: KnownEvent) => one.event === event && Number(one.properties?.['n']) >= value,
        }
      : { choice: chosen(event), takes: (one: KnownEvent) => one.event === event };
  });
  const choices: EventChoice[] = steps.map(({ choice }) => choice);
  const funnel = { steps: choices, within_ms: draw.of([1, 5, 20, 100]), from_ms: START_MS, to_ms: END_MS };
  return { funnel, takes: steps.map(({ takes }) => takes) };
}

/** How many steps a player took: tries all chains of events. */
function reachedBy(events: readonly KnownEvent[], { funnel, takes }: Case): number {
  const { from_ms, to_ms, within_ms } = funnel;
  const from = (step: number, after_ms: number, until_ms: number): number => {
    const next = events.filter(
      (one) => one.at_ms > after_ms && one.at_ms <= until_ms && takes[step]?.(one) === true,
    );
    return next.reduce((most, { at_ms }) => Math.max(most, 1 + from(step + 1, at_ms, until_ms)), 0);
  };
  const first = events.filter((one) => one.at_ms >= from_ms && one.at_ms < to_ms && takes[0]?.(one) === true);
  return first.reduce((most, { at_ms }) => Math.max(most, 1 + from(1, at_ms, at_ms + within_ms)), 0);
}

const counted = () => players.filter(({ is_deleted }) => !is_deleted);

/** The players by how many steps they took; those who took none are absent. */
function expected(one: Case): Map<string, number> {
  const reached = counted().map(
    ({ player_id }) => [player_id, reachedBy(of_players.get(player_id) ?? [], one)] as const,
  );
  return new Map(reached.filter(([, steps]) => steps > 0));
}

async function list(funnel: Funnel, cell: FunnelCell): Promise<[string, number][]> {
  const rows = await kinds.ask<{ player_id: string; value: string }>(
    project,
    listReached(funnel, cell, everyone()),
  );
  return byId(rows.map(({ player_id, value }): [string, number] => [player_id, Number(value)]));
}

it('counts as brute force does over 10,000 players, also with steps that overlap and events at one time', async () => {
  for (let i = 0; i < 25; i++) {
    const one = drawCase();
    const reached = expected(one);
    const rows = await kinds.ask<ReachedRow>(project, countReached(one.funnel, everyone()));
    const found = Object.fromEntries(rows.map(({ reached, players }) => [reached, Number(players)]));
    const sizes = groupBy([...reached.values()], (steps) => steps);
    const wanted = Object.fromEntries([...sizes].map(([steps, all]) => [steps, all.length]));
    expect(found, JSON.stringify(one.funnel)).toEqual(wanted);
  }
}, 120_000);

it('lists in each cell the players that brute force finds', async () => {
  for (let i = 0; i < CELLS / 10; i++) {
    const one = drawCase();
    const reached = byId([...expected(one)]);
    for (let n = 0; n < 10; n++) {
      const step = 1 + draw.below(one.funnel.steps.length);
      const is = draw.of(['reached', 'dropped'] as const);
      const wanted = reached.filter(([, steps]) => (is === 'reached' ? steps >= step : steps === step));
      expect(await list(one.funnel, { step, is }), JSON.stringify([one.funnel, step, is])).toEqual(wanted);
    }
  }
}, 120_000);

it('gives groups of their own to the largest, and puts the rest together exactly', async () => {
  const tiers = new Map(players.map(({ player_id, tier }) => [player_id, tier ?? '']));
  for (let i = 0; i < 5; i++) {
    const one = drawCase();
    const of_first = (player_id: string) => firstLabel(player_id, one);
    const by_tier = labelsOfPlayers("ifNull(p.current_tier_code, '')");
    const population = everyone();
    const by_event = labelsOfFirstEvents(
      one.funnel,
      "JSONExtractString(properties, 'from')",
      (label) => label,
      population,
    );
    await expectGroups(one, { sql: by_tier, top: 2 }, (player_id) => tiers.get(player_id));
    const rows = await kinds.ask<ReachedRow>(
      project,
      countReached(one.funnel, population, { sql: by_event, top: 25 }),
    );
    const wanted = [...expected(one)].map(([player_id, reached]) => `${of_first(player_id)} ${reached}`);
    const found = rows.flatMap(({ label, reached, players }) =>
      Array.from({ length: Number(players) }, () => `${label} ${reached}`),
    );
    expect(found.sort()).toEqual(wanted.sort());
  }
}, 120_000);

/** What the first event of the first step in the span says. */
function firstLabel(player_id: string, { funnel, takes }: Case): string {
  const first = (of_players.get(player_id) ?? [])
    .filter((one) => one.at_ms >= funnel.from_ms && one.at_ms < funnel.to_ms && takes[0]?.(one) === true)
    .sort((a, b) => a.at_ms - b.at_ms);
  return String(first[0]?.properties?.['from']);
}

async function expectGroups(
  one: Case,
  labels: Labels,
  label_of: (player_id: string) => string | undefined,
): Promise<void> {
  const reached = expected(one);
  const groups = groupBy([...reached.keys()], (player_id) => label_of(player_id) ?? '');
  const [first, second, ...rest] = [...groups]
    .sort(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1))
    .map(([label]) => label);
  const rows = await kinds.ask<ReachedRow>(project, countReached(one.funnel, everyone(), labels));
  const own = [...new Set(rows.filter(({ is_other }) => is_other === 0).map(({ label }) => label))];
  expect(own.sort()).toEqual([first, second].filter((label) => label !== undefined).sort());
  const players_of = (is_other: number, label: string, steps: number) =>
    rows
      .filter((row) => row.is_other === is_other && row.label === label && row.reached === steps)
      .reduce((sum, row) => sum + Number(row.players), 0);
  const count = (labels: readonly (string | undefined)[], steps: number) =>
    [...reached].filter(([id, taken]) => taken === steps && labels.includes(label_of(id) ?? '')).length;
  for (const steps of one.funnel.steps.map((_, i) => i + 1)) {
    expect(players_of(0, first ?? '', steps)).toBe(count([first], steps));
    expect(players_of(1, '', steps)).toBe(count(rest, steps));
    const cell: FunnelCell = { step: steps, is: 'dropped', of: { labels, group: first ?? '' } };
    expect((await list(one.funnel, cell)).length).toBe(count([first], steps));
    const other: FunnelCell = { step: steps, is: 'dropped', of: { labels, not_in: own } };
    expect((await list(one.funnel, other)).length).toBe(count(rest, steps));
  }
}

it('asks only about whom and what the filter leaves', async () => {
  const one = drawCase();
  const some = players.slice(0, 2_000).map(({ player_id }) => player_id);
  const population = everyone('owner in {some:Array(UUID)}', "JSONExtractInt(properties, 'n') > 0", { some });
  const rows = await kinds.ask<ReachedRow>(project, countReached(one.funnel, population));
  const left = counted().filter(({ player_id }) => some.includes(player_id));
  const reached = left
    .map(({ player_id }) =>
      reachedBy(
        (of_players.get(player_id) ?? []).filter((event) => Number(event.properties?.['n']) > 0),
        one,
      ),
    )
    .filter((steps) => steps > 0);
  expect(rows.reduce((sum, row) => sum + Number(row.players), 0)).toBe(reached.length);
});
