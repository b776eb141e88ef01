import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PlayerEvent } from '../../src/ingest/events/envelope.ts';
import { dependenciesOf } from '../../src/segments/dependencies.ts';
import { traitsOf } from '../../src/segments/evaluated/changes.ts';
import { addEvents, amountOf, subtract, type Counts } from '../../src/segments/evaluated/count.ts';
import { planOf, type Plan } from '../../src/segments/evaluated/plan.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { runs } from '../engines/effort.ts';
import { definitionOver, NOW_MS, player } from './arbitraries.ts';
import { matches, type NaiveEvent, type NaivePlayer } from './naive.ts';

const MINUTE_MS = 60_000;

function planFor(written: readonly unknown[]): Plan {
  const segments = written.map((one, i) => {
    const parsed = readDefinition(one);
    return { segment_id: String(i), parsed, reads: dependenciesOf(parsed).reads, is_quarantined: false };
  });
  return planOf('plan', segments, []);
}

/** The event as the fold writes it. */
function asFolded({ occurred_ms, ...event }: NaiveEvent, index = 0): PlayerEvent {
  const money = (value: number | null | undefined) => value as unknown as bigint | null;
  const ids = { tenant_id: 't', project_id: 'p', player_id: 'x', ingestion_id: 'event', event_index: index };
  const { base_amount, base_payout, base_bonus_stake, base_bonus_payout, ...others } = event;
  return {
    ...ids,
    ...others,
    occurred_at: occurred_ms,
    received_at: occurred_ms,
    base_amount: money(base_amount),
    base_payout: money(base_payout),
    base_bonus_stake: money(base_bonus_stake),
    base_bonus_payout: money(base_bonus_payout),
  };
}

/** The totals of all events at a time, each event by itself. */
function totalsAt(plan: Plan, events: readonly NaiveEvent[], now_ms: number): number[] {
  return plan.totals.map(({ total }) => {
    const { event, window } = total.set;
    const isIn = ({ occurred_ms }: NaiveEvent) =>
      window.kind !== 'last' || (occurred_ms > now_ms - window.last_ms && occurred_ms <= now_ms);
    return events
      .filter((one) => one.event === event && isIn(one))
      .reduce((sum, one) => sum + amountOf(total, asFolded(one), now_ms), 0);
  });
}

const lineOf = ({ traits, custom_attributes }: NaivePlayer) =>
  JSON.stringify({ external_id: null, ...traits, custom_attributes: JSON.stringify(custom_attributes) });

it('what a plan decides of a player is what the definitions say', () => {
  let decided = 0;
  fc.assert(
    fc.property(
      fc.array(definitionOver(['00000000-0000-4000-8000-000000000001']), { minLength: 1, maxLength: 6 }),
      player,
      (written, drawn) => {
        const one = { ...drawn, segment_ids: new Set<string>() };
        const plan = planFor(written);
        const truths = {
          totals: totalsAt(plan, one.events, NOW_MS),
          traits: traitsOf(plan, lineOf(one), NOW_MS),
        };
        for (const [segment_id, isMatch] of plan.decided) {
          const definition = written[Number(segment_id)];
          if (definition === undefined) throw new Error('a plan decides what is not there');
          decided++;
          expect(isMatch(truths), JSON.stringify(definition)).toBe(matches(definition, one, NOW_MS));
        }
      },
    ),
    { numRuns: runs(2_000) },
  );
  expect(decided).toBeGreaterThan(0);
});

/** Events of the last minutes, in any order, some of them twice. */
const recent = fc.array(
  fc.tuple(
    player.map(({ events }) => events[0]).filter((one) => one !== undefined),
    fc.integer({ min: 0, max: 40 }),
    fc.nat(5),
  ),
  { minLength: 1, maxLength: 12 },
);

it('events that are added and passed are a recount, or nothing is known', () => {
  let added = 0;
  fc.assert(
    fc.property(
      fc.array(definitionOver(['00000000-0000-4000-8000-000000000001']), { minLength: 1, maxLength: 6 }),
      recent,
      fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
      (written, drawn, cuts) => {
        const plan = planFor(written);
        const events = drawn.map(([event, minutes, id]) => ({
          naive: { ...event, occurred_ms: NOW_MS - minutes * MINUTE_MS - id },
          index: id,
        }));
        const seen = new Map<string, NaiveEvent>();
        let counts: Counts | undefined = { totals: plan.totals.map(() => 0), since_ms: 0, recent: [] };
        for (let from = 0; from < events.length && counts !== undefined;) {
          const part = events.slice(from, from + (cuts.pop() ?? 2));
          from += part.length;
          const next = addEvents(
            counts,
            plan,
            part.map(({ naive, index }) => asFolded(naive, index)),
            NOW_MS,
          );
          const known = part.filter(({ naive, index }) => {
            const key = `${naive.occurred_ms} ${index}`;
            if (seen.has(key)) return false;
            seen.set(key, naive);
            return true;
          });
          // Events of one time and id are one: what differs in a repetition is not read.
          if (known.length < part.length) expect(next).toBeUndefined();
          counts = next;
          if (next !== undefined) {
            added++;
            expect(next.totals).toEqual(totalsAt(plan, [...seen.values()], NOW_MS));
          }
        }
        if (counts === undefined) return;
        const all = [...seen.values()];
        for (const later_ms of [NOW_MS + 3_600_000, NOW_MS + 40 * 86_400_000]) {
          const [before, after] = [totalsAt(plan, all, NOW_MS), totalsAt(plan, all, later_ms)];
          const left = subtract(counts, plan, ({ index }) => (before[index] ?? 0) - (after[index] ?? 0));
          expect(left?.totals).toEqual(after);
        }
      },
    ),
    { numRuns: runs(1_000) },
  );
  expect(added).toBeGreaterThan(0);
});
