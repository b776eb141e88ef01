import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJourney } from '../../../../src/engage/journeys/graph/read-journey.ts';
import { matches } from '../../../../src/engage/journeys/graph/where.ts';
import { filterOf, mayMatter } from '../../../../src/engage/journeys/runs/event-filters.ts';
import { verdictOn } from '../../../../src/engage/journeys/runs/event-where.ts';
import { awaits, exitOf } from '../../../../src/engage/journeys/runs/match-verdicts.ts';
import type { PlayerEvent } from '../../../../src/ingest/events/envelope.ts';
import { runs } from '../../../engines/effort.ts';

const END = { id: 'end', type: 'end' };

const value = fc.integer({ min: 0, max: 4 });
const where = fc.option(
  fc.oneof(
    fc.record({ amount: fc.record({ gte: value }) }),
    fc.record({ score: value }),
    fc.record({ score: fc.record({ neq: value }), payout: fc.record({ lt: value }) }),
    fc.record({ at: fc.record({ after: fc.constantFrom('2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z') }) }),
  ),
  { nil: undefined },
);
const name = fc.constantFrom('custom_a', 'custom_b');
const rule = fc
  .record({ event: name, where })
  .map(({ event, where: of }) => ({ event, ...(of && { where: of }) }));
const definition = fc
  .record({
    waits: fc.array(rule, { maxLength: 2 }),
    exit_on: fc.array(rule, { maxLength: 2 }),
    goal: fc.option(rule),
    exit: fc.boolean(),
  })
  .map(({ waits, exit_on, goal, exit }) => {
    const nodes = waits.map((awaited, i) => {
      const next = i + 1 < waits.length ? `w${i + 1}` : 'end';
      return {
        id: `w${i}`,
        type: 'wait_for_event',
        ...awaited,
        timeout_ms: 60_000,
        next,
        timeout_next: 'end',
      };
    });
    const graph = { start_node_id: waits.length > 0 ? 'w0' : 'end', nodes: [...nodes, END] };
    const settings = { exit_on, ...(goal && { goal: { ...goal, window_days: 7, exit } }) };
    return readJourney({ trigger: { kind: 'api' }, graph, settings });
  });
const amount = fc.option(fc.bigInt(0n, 4n));
const event: fc.Arbitrary<PlayerEvent> = fc
  .record({
    event: name,
    base_amount: amount,
    base_payout: amount,
    properties: fc.record(
      { amount: value, payout: value, score: value, at: fc.constantFrom('2026-06-01T00:00:00Z', 'never') },
      { requiredKeys: [] },
    ),
  })
  .map((of) => ({
    tenant_id: '',
    project_id: '',
    player_id: '',
    ingestion_id: '',
    event_index: 0,
    occurred_at: 0,
    received_at: 0,
    ...of,
  }));

it('an event matters exactly when it may wake or end a run of some definition', () => {
  fc.assert(
    fc.property(fc.array(definition, { maxLength: 4 }), event, (definitions, one) => {
      const filter = filterOf(definitions, one.event);
      const wakes = definitions.some((each) =>
        [...each.graph.nodes.keys()].some((node_id) => awaits(each, { node_id }, one)),
      );
      expect(mayMatter(filter.wakes, () => one)).toBe(wakes);
      const ends = definitions.some((each) => exitOf(each, one) !== undefined);
      expect(mayMatter(filter.ends, () => one)).toBe(ends);
    }),
    { numRuns: runs(300) },
  );
});

it('with more filters than are worth judging every event of the name matters', () => {
  const definitions = Array.from({ length: 60 }, (_, i) => {
    const nodes = [
      {
        id: 'w',
        type: 'wait_for_event',
        event: 'custom_a',
        where: { score: i },
        timeout_ms: 60_000,
        next: 'end',
        timeout_next: 'end',
      },
      END,
    ];
    return readJourney({ trigger: { kind: 'api' }, graph: { start_node_id: 'w', nodes }, settings: {} });
  });
  const read = () => {
    throw new Error('not read');
  };
  expect(mayMatter(filterOf(definitions, 'custom_a').wakes, read)).toBe(true);
  // Of the same filters one is judged.
  expect(
    filterOf(
      definitions.slice(0, 3).flatMap((one) => [one, one]),
      'custom_a',
    ).wakes,
  ).toHaveLength(3);
  expect(filterOf(definitions, 'custom_b')).toEqual({ wakes: [], ends: [] });
});

it('amounts are those in the base currency, where there are any', () => {
  fc.assert(
    fc.property(definition, event, (one, of) => {
      const { base_amount, base_payout, properties } = of;
      const money = {
        ...properties,
        ...(base_amount !== null && { amount: Number(base_amount) }),
        ...(base_payout !== null && { payout: Number(base_payout) }),
      };
      for (const node of one.graph.nodes.values()) {
        if (node.type !== 'wait_for_event') continue;
        expect(verdictOn(node.where, of)).toBe(matches(node.where, money, of.received_at));
      }
    }),
    { numRuns: runs(300) },
  );
});

describe('an amount without a rate', () => {
  const judge = (where: unknown, properties: Record<string, unknown>, base: bigint | null = null) => {
    const node = { id: 'w0', type: 'wait_for_event', event: 'deposit_confirmed', where };
    const read = readJourney({
      trigger: { kind: 'api' },
      graph: {
        start_node_id: 'w0',
        nodes: [{ ...node, timeout_ms: 60_000, next: 'end', timeout_next: 'end' }, END],
      },
      settings: { exit_on: [{ event: 'deposit_confirmed', where }] },
    });
    const event = {
      event: 'deposit_confirmed',
      received_at: 0,
      base_amount: base,
      base_payout: null,
      properties,
    };
    const wait = awaits(read, { node_id: 'w0' }, event);
    const exit = { exited: true, undecided: undefined, goal: true, none: false }[
      exitOf(read, event) ?? 'none'
    ];
    expect(exit).toBe(wait);
    return wait;
  };
  const foreign = { amount: 6_000, currency: 'KRW', method: 'card', transaction_id: 't' };

  it.each([
    { gte: 5_000 },
    { lt: 5_000 },
    6_000,
    { neq: 6_000 },
    { in: [6_000] },
    { nin: [1] },
    { between: [0, 10_000] },
    { exists: true },
    { exists: false },
  ])('decides nothing: %j', (amount) => {
    expect(judge({ amount }, foreign)).toBe(undefined);
    expect(judge({ amount }, { ...foreign, amount: '6000' })).toBe(undefined);
    // What is false whatever the amount is, is false.
    expect(judge({ amount, method: 'bank' }, foreign)).toBe(false);
    expect(judge({ method: 'bank', amount }, foreign)).toBe(false);
    expect(judge({ method: 'card', amount }, foreign)).toBe(undefined);
    // The worth is €4.
    expect(judge({ amount }, foreign, 400n)).toBe(judge({ amount }, { amount: 400 }));
  });

  it('is none of a filter on other properties, and what is not in the ledger is a number unless it names a currency', () => {
    expect(judge({ method: 'card' }, foreign)).toBe(true);
    // Not in the ledger, so that nobody restates it; the fold has not converted it.
    expect(judge({ amount: { gte: 5_000 } }, { amount: 6_000, currency: 'KRW' })).toBe(false);
    expect(judge({ amount: { gte: 5_000 } }, { amount: 6_000 })).toBe(true);
    expect(judge({ amount: { gte: 5_000 } }, { amount: '6000' })).toBe(true);
    expect(judge({ amount: { gte: 5_000 } }, { currency: 'KRW' })).toBe(false);
    expect(judge({ amount: { neq: 5_000 } }, { currency: 'KRW' })).toBe(true);
    expect(judge({ amount: { gte: 5_000 } }, { currency: 'KRW', amount: 'much' })).toBe(false);
    expect(judge({ amount: { gte: 5_000 } }, { ...foreign, amount: 0 })).toBe(false);
  });
});

it('amounts above 2^53 are compared exactly', () => {
  const limit = 2 ** 53;
  const next = BigInt(limit) + 1n;
  const judged = (base_amount: bigint) => ({
    event: 'custom_a',
    base_amount,
    base_payout: base_amount,
    properties: {},
    received_at: 0,
  });
  const holds = (condition: unknown, amount: bigint) =>
    (['amount', 'payout'] as const).map((property) => {
      const node = {
        id: 'w0',
        type: 'wait_for_event',
        event: 'custom_a',
        where: { [property]: condition },
        timeout_ms: 60_000,
        next: 'end',
        timeout_next: 'end',
      };
      const read = readJourney({
        trigger: { kind: 'api' },
        graph: { start_node_id: 'w0', nodes: [node, END] },
        settings: {},
      });
      const wait = read.graph.nodes.get('w0');
      if (wait?.type !== 'wait_for_event') throw new Error('the journey was not read');
      return verdictOn(wait.where, judged(amount));
    });
  expect(holds({ gt: limit }, next)).toEqual([true, true]);
  expect(holds({ gt: limit }, next - 1n)).toEqual([false, false]);
  expect(holds({ lte: limit }, next)).toEqual([false, false]);
  expect(holds({ between: [0, limit] }, next)).toEqual([false, false]);
  expect(holds(limit, next)).toEqual([false, false]);
  expect(holds(limit, next - 1n)).toEqual([true, true]);
  expect(holds({ neq: limit }, next)).toEqual([true, true]);
  expect(holds({ in: [1, limit] }, next)).toEqual([false, false]);
  expect(holds({ in: [1, limit] }, next - 1n)).toEqual([true, true]);
});
