import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIFECYCLE, type LifecycleState } from '../../../../src/analytics/insights/kinds/cells.ts';
import {
  countLifecycle,
  listLifecycle,
  type Lifecycle,
  type LifecycleInterval,
  type LifecycleRow,
} from '../../../../src/analytics/insights/kinds/lifecycle-queries.ts';
import { quietFrom, statesOf } from '../../../../src/analytics/insights/kinds/lifecycle.ts';
import { groupBy } from '../../../../src/platform/group-by.ts';
import { nextLocal, startOfLocal } from '../../../../src/platform/local-intervals.ts';
import { TimeZone } from '../../../../src/platform/time-zone.ts';
import {
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
const FROM_MS = Date.UTC(2026, 8, 1);
const ACTIVITY = ['login', 'deposit_confirmed'];
const CELLS = 200;

let kinds: Kinds;
beforeAll(async () => {
  kinds = await openKinds();
}, 60_000);
afterAll(() => kinds?.close());

function lifecycleOf(
  zone: TimeZone,
  unit: 'day' | 'week' | 'month',
  count: number,
  quiet_days: number,
): Lifecycle {
  const intervals: LifecycleInterval[] = [];
  for (let from_ms = startOfLocal(zone, unit, FROM_MS + 40 * DAY_MS); intervals.length < count;) {
    const to_ms = nextLocal(zone, unit, from_ms);
    intervals.push({ from_ms, to_ms, quiet_from_ms: quietFrom(zone, from_ms, quiet_days) });
    from_ms = to_ms;
  }
  return { intervals, activity: ACTIVITY };
}

/** The state of a player in an interval; undefined: in none. */
function stateOf(
  { first_seen_ms }: KnownPlayer,
  events: readonly KnownEvent[],
  { from_ms, to_ms, quiet_from_ms }: LifecycleInterval,
): LifecycleState | undefined {
  const isActive = (from_ms: number, to_ms: number) =>
    events.some(({ event, at_ms }) => ACTIVITY.includes(event) && at_ms >= from_ms && at_ms < to_ms);
  const was_active = isActive(quiet_from_ms, from_ms);
  if (!isActive(from_ms, to_ms)) return was_active ? 'churned' : undefined;
  if (was_active) return 'returning';
  return first_seen_ms < quiet_from_ms ? 'reactivated' : 'new';
}

it.each(['Europe/Malta', 'America/Santiago'])(
  'counts and lists as brute force does where clocks change, in %s',
  async (name) => {
    const zone = TimeZone.named(name);
    if (zone === undefined) throw new Error(`there is no zone ${name}`);
    const draw = new Draw();
    const project = newProject();
    const players = drawPlayers(draw, 1_500, () => FROM_MS + draw.below(120 * DAY_MS));
    const events = players.flatMap(({ player_id }) =>
      Array.from({ length: draw.of([0, 1, 2, 5, 15]) }, (): KnownEvent => ({
        player_id,
        event: draw.of([...ACTIVITY, 'signup']),
        at_ms: FROM_MS + draw.below(120 * DAY_MS),
      })),
    );
    await kinds.store(project, players, events);
    await kinds.store(
      { ...project, project_id: newProject().project_id },
      players.slice(0, 200),
      events.slice(0, 400),
    );
    const of_players = groupBy(events, ({ player_id }) => player_id);
    const left = players.filter(({ is_deleted }) => !is_deleted);
    for (const [unit, count, quiet_days] of [
      ['day', 40, 7],
      ['week', 8, 30],
      ['month', 2, 30],
    ] as const) {
      const lifecycle = lifecycleOf(zone, unit, count, quiet_days);
      const rows = await kinds.ask<LifecycleRow>(project, countLifecycle(lifecycle, everyone()));
      const states = statesOf(lifecycle, rows);
      const expected = lifecycle.intervals.map((interval) =>
        groupBy(left, (player) => stateOf(player, of_players.get(player.player_id) ?? [], interval)),
      );
      for (const [i, of_interval] of expected.entries())
        for (const state of LIFECYCLE)
          expect([i, state, states[i]?.[state]]).toEqual([
            i,
            state,
            BigInt(of_interval.get(state)?.length ?? 0),
          ]);
      for (let n = 0; n < CELLS / 6; n++) {
        const i = draw.below(count);
        const state = draw.of(LIFECYCLE);
        const interval = lifecycle.intervals[i];
        if (interval === undefined) throw new Error('the interval is missing');
        const listed = await kinds.ask<{ player_id: string; value: string }>(
          project,
          listLifecycle(lifecycle, { interval, state }, everyone()),
        );
        const ids = listed.map(({ player_id }) => player_id);
        const wanted = (expected[i]?.get(state) ?? []).map(({ player_id }) => player_id);
        expect(ids.sort()).toEqual(wanted.sort());
        expect(listed.every(({ value }) => Number(value) > 0)).toBe(true);
      }
    }
  },
  180_000,
);
