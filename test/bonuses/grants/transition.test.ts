import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EVENT_NAMES,
  NO_FACTS,
  rankOf,
  transition,
  type GrantEvent,
  type GrantState,
} from '../../../src/bonuses/grants/transition.ts';
import { runs } from '../../engines/effort.ts';
import { endOfLife, walk } from './life-oracle.ts';

const NEW: GrantState = { status: 'pending', outcome: 'sent', needs_review: false, facts: NO_FACTS };
const run = (events: readonly GrantEvent[]) =>
  events.reduce((state, event) => transition(state, event).state, NEW);

/** Lives of one bonus, each of at most seven events with its repeats. */
const LIVES: Record<string, GrantEvent[]> = {
  completed: [
    { name: 'bonus.accepted', at_ms: 5, platform_bonus_id: 'pb' },
    {
      name: 'bonus.credited',
      at_ms: 10,
      credited_ms: 9,
      expires_ms: 99,
      amount: 500n,
      platform_bonus_id: 'pb',
    },
    { name: 'bonus.wagered', at_ms: 20, total_wagered: 100n, wagering_required: 900n },
    { name: 'bonus.wagered', at_ms: 30, total_wagered: 300n, wagering_required: 800n },
    { name: 'bonus.wagered', at_ms: 30, total_wagered: 300n, wagering_required: 800n },
    { name: 'bonus.completed', at_ms: 50, completed_ms: 49, total_wagered: 500n, released_amount: 70n },
    { name: 'bonus.completed', at_ms: 50, completed_ms: 49, total_wagered: 500n, released_amount: 70n },
  ],
  'refused asynchronously': [
    { name: 'bonus.accepted', at_ms: 5, platform_bonus_id: 'pb' },
    { name: 'bonus.rejected', at_ms: 10, reason: 'closed' },
    { name: 'bonus.rejected', at_ms: 10, reason: 'closed' },
  ],
  'refused, then credited': [
    { name: 'bonus.rejected', at_ms: 10, reason: 'closed' },
    { name: 'bonus.credited', at_ms: 20 },
    { name: 'bonus.credited', at_ms: 20 },
    { name: 'bonus.wagered', at_ms: 30, total_wagered: 5n },
    { name: 'bonus.rejected', at_ms: 10, reason: 'closed' },
  ],
  'refused, then completed': [
    { name: 'bonus.rejected', at_ms: 10 },
    { name: 'bonus.credited', at_ms: 20 },
    { name: 'bonus.completed', at_ms: 30, released_amount: 1n },
    { name: 'bonus.completed', at_ms: 31, released_amount: 2n },
  ],
  ...Object.fromEntries(
    (['expired', 'forfeited', 'lost', 'cancelled'] as const).map((end) => [
      end,
      [
        { name: 'bonus.credited', at_ms: 10, winnings: 7n },
        { name: 'bonus.credited', at_ms: 10, winnings: 7n },
        { name: 'bonus.wagered', at_ms: 20, total_wagered: 0n },
        { name: 'bonus.wagered', at_ms: 30, total_wagered: 40n },
        { name: `bonus.${end}`, at_ms: 60, reason: 'over' },
        { name: `bonus.${end}`, at_ms: 60, reason: 'over' },
      ],
    ]),
  ),
};

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length < 2) yield [...items];
  for (const [i, item] of items.entries()) {
    if (items.length < 2) return;
    for (const rest of permutations(items.filter((_, at) => at !== i))) yield [item, ...rest];
  }
}

describe('the events of one bonus', () => {
  it.each(Object.entries(LIVES))('%s: every order of every part ends alike', (_name, life) => {
    for (let parts = 0; parts < 2 ** life.length; parts++) {
      const part = life.filter((_, i) => (parts & (2 ** i)) !== 0);
      // Wagering alone refutes no refusal, so of these two the first stays.
      const has = (name: string) => part.some((event) => event.name === name);
      if (has('bonus.rejected') && has('bonus.wagered') && !has('bonus.credited')) continue;
      // The whole life in every order; its parts, which stand for lost events, in a few.
      const orders = part.length === life.length ? permutations(part) : [part, [...part].reverse()];
      let first: GrantState | undefined;
      for (const order of orders) {
        const state = run(order);
        first ??= state;
        if (JSON.stringify(state, digits) !== JSON.stringify(first, digits)) expect(state).toEqual(first);
      }
      if (first === undefined) continue;
      const { status, needs_review, facts } = first;
      const { total_wagered, released_amount: released, credited_ms, ended_ms } = facts;
      expect({ status, needs_review, total_wagered, released, credited_ms, ended_ms }).toEqual(
        endOfLife(part),
      );
    }
  });

  it('after them, a repeat of any of them changes nothing', () => {
    for (const life of Object.values(LIVES)) {
      const end = run(life);
      for (const event of life)
        expect(transition(end, event)).toMatchObject({ applied: false, changed: false });
    }
  });
});

const digits = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);

const anyEvent: fc.Arbitrary<GrantEvent> = fc.record(
  {
    name: fc.constantFrom(...EVENT_NAMES),
    at_ms: fc.integer({ min: 0, max: 50 }),
    platform_bonus_id: fc.constant('pb'),
    total_wagered: fc.bigInt({ min: 0n, max: 20n }),
    released_amount: fc.bigInt({ min: 0n, max: 9n }),
  },
  { requiredKeys: ['name', 'at_ms'] },
);

describe('any stream of events', () => {
  it('follows the table of statuses, and the rank of the status never falls', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 12 }), (events) => {
        const expected = walk(events);
        let state = NEW;
        for (const [i, event] of events.entries()) {
          const next = transition(state, event);
          expect({ status: next.state.status, applied: next.applied }).toEqual(expected[i]);
          if (!next.revived) expect(rankOf(next.state.status)).toBeGreaterThanOrEqual(rankOf(state.status));
          if (next.applied) expect(next.changed).toBe(true);
          if (state.needs_review) expect(next.state.needs_review).toBe(true);
          state = next.state;
        }
      }),
      { numRuns: runs(5_000) },
    );
  });
});

describe('what somebody must look at', () => {
  const given_up: GrantState = { ...NEW, status: 'cancelled', outcome: 'unknown' };
  const APPEARS = EVENT_NAMES.filter((name) => name !== 'bonus.cancelled' && name !== 'bonus.rejected');

  it.each(APPEARS)('is a bonus that appears after it was given up as unknown to the platform: %s', (name) => {
    for (const outcome of ['unsent', 'sent', 'unknown'] as const) {
      const { state, applied } = transition({ ...given_up, outcome }, { name, at_ms: 1, total_wagered: 5n });
      expect({ status: state.status, needs_review: state.needs_review, applied }).toEqual({
        status: 'cancelled',
        needs_review: true,
        applied: false,
      });
    }
  });

  it('is not a cancellation by the platform of what was given up', () => {
    const { state } = transition(given_up, { name: 'bonus.cancelled', at_ms: 1 });
    expect(state).toMatchObject({ status: 'cancelled', needs_review: false });
  });

  it.each(['bonus.wagered', 'bonus.expired', 'bonus.forfeited', 'bonus.lost'] as const)(
    'is a refused bonus that exists after all, in either order: %s',
    (name) => {
      const refusal: GrantEvent = { name: 'bonus.rejected', at_ms: 1 };
      const sign: GrantEvent = { name, at_ms: 2, total_wagered: 5n };
      expect(run([refusal, sign])).toMatchObject({ status: 'failed', needs_review: true });
      expect(run([sign, refusal])).toMatchObject({ needs_review: true });
    },
  );

  it('is not the acceptance of a bonus that the platform refused later: its answer may be written last', () => {
    const answers: GrantEvent[] = [
      { name: 'bonus.rejected', at_ms: 2 },
      { name: 'bonus.accepted', at_ms: 1 },
    ];
    expect(run(answers)).toMatchObject({ status: 'failed', needs_review: false });
  });

  it('is not a credit that is reported after the platform has cancelled the bonus', () => {
    const state = run([
      { name: 'bonus.cancelled', at_ms: 2 },
      { name: 'bonus.credited', at_ms: 1 },
    ]);
    expect(state).toMatchObject({ status: 'cancelled', needs_review: false });
  });

  it('is a refusal of a bonus that was credited, and another id for the same bonus', () => {
    const active = run([{ name: 'bonus.credited', at_ms: 1, platform_bonus_id: 'a' }]);
    expect(transition(active, { name: 'bonus.rejected', at_ms: 2 }).state.needs_review).toBe(true);
    const other: GrantEvent = { name: 'bonus.accepted', at_ms: 2, platform_bonus_id: 'b' };
    expect(transition(active, other).state).toMatchObject({
      needs_review: true,
      facts: { platform_bonus_id: 'a' },
    });
  });
});
