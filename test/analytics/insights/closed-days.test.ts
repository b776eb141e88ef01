import { expect, it } from 'vitest';
import { ClosedDays } from '../../../src/analytics/insights/closed-days.ts';
import type { Plan, Statement, Steps } from '../../../src/analytics/insights/kind.ts';
import { TimeZone, UTC_ZONE } from '../../../src/platform/time-zone.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-07-10T23:00:00Z');
const figures: Statement = { sql: 'select figures', params: {} };
const plan: Plan = {
  statements: [figures],
  read: () => ({ columns: [], rows: [], totals: [], other: null }),
  is_of_events_alone: true,
};

const daysUntil = (to_ms: number): Steps => ({
  from_ms: to_ms - 2 * DAY_MS,
  to_ms,
  starts_ms: [to_ms - 2 * DAY_MS, to_ms - DAY_MS],
  interval: 'day',
});

/** ClickHouse with events that have this stamp; `computed`: how often figures were asked. */
function engine() {
  const state = { stamp: 'one', computed: 0 };
  const run = async ([statement]: readonly Statement[]) => {
    if (statement !== figures) return [[{ stamp: state.stamp }]];
    state.computed++;
    return [[{ of: state.stamp }]];
  };
  return { state, run };
}

const YESTERDAY_MS = Date.parse('2026-07-10T00:00:00Z');
const write = (rows: unknown) => JSON.stringify(rows);

it('figures of days that are over are computed once, until an event of them changes', async () => {
  const { state, run } = engine();
  const closed = new ClosedDays();
  const scope = { steps: daysUntil(YESTERDAY_MS), compared: undefined, zone: UTC_ZONE, now_ms: NOW_MS };
  const ask = (question = 'a') => closed.of(question, plan, scope, run, write);
  expect([await ask(), await ask()]).toEqual(['[[{"of":"one"}]]', '[[{"of":"one"}]]']);
  expect(state.computed).toBe(1);
  state.stamp = 'two';
  expect(await ask()).toBe('[[{"of":"two"}]]');
  expect(state.computed).toBe(2);
  await ask('b');
  expect(state.computed).toBe(3);
});

it('figures of today, and those that depend on more than events, are computed each time', async () => {
  const { state, run } = engine();
  const closed = new ClosedDays();
  const today = {
    steps: daysUntil(YESTERDAY_MS + DAY_MS),
    compared: undefined,
    zone: UTC_ZONE,
    now_ms: NOW_MS,
  };
  const over = { ...today, steps: daysUntil(YESTERDAY_MS) };
  for (let n = 0; n < 2; n++) {
    await closed.of('a', plan, today, run, write);
    await closed.of('b', { ...plan, is_of_events_alone: false }, over, run, write);
    await closed.of('c', plan, { ...over, compared: { ...today.steps, pairs_ms: [] } }, run, write);
  }
  expect(state.computed).toBe(6);
  // In Malta the 11th has begun at 22:00 UTC: the 10th is over there.
  const malta = TimeZone.named('Europe/Malta') ?? UTC_ZONE;
  const local = { ...over, zone: malta, steps: daysUntil(Date.parse('2026-07-10T22:00:00Z')) };
  await closed.of('d', plan, local, run, write);
  await closed.of('d', plan, local, run, write);
  expect(state.computed).toBe(7);
});
