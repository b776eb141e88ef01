import { describe, expect, it } from 'vitest';
import { EVENTS } from '../../src/ingest/events/catalogue.ts';
import { segmentVocabulary } from '../../src/segments/reading-schema.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { TRAIT_FIELDS } from '../../src/segments/language/fields.ts';
import type { OperandShape, ValueKind } from '../../src/segments/language/operands.ts';
import { OPERATORS } from '../../src/segments/language/operators.ts';
import { vocabulary } from '../../src/segments/language/vocabulary.ts';

const words = vocabulary();

/** Whether a definition with this one condition is accepted. */
function isAccepted(condition: object): boolean {
  try {
    readDefinition({ operator: 'AND', conditions: [condition] });
    return true;
  } catch {
    return false;
  }
}

interface Comparable {
  kind: ValueKind;
  values: readonly string[] | null;
}

/** A value that a builder would offer. */
function valueOf({ kind, values }: Comparable, shape: OperandShape): unknown {
  const scalar =
    values?.[0] ?? (kind === 'number' ? 7 : kind === 'date' ? '2026-01-31T00:00:00Z' : 'some text');
  const moments = ['2026-01-01T00:00:00Z', '2026-01-31T00:00:00Z'];
  return {
    none: undefined,
    scalar,
    list: [scalar],
    number: 7,
    text: 'some text',
    range: kind === 'date' ? moments : [1, 2],
    moment: moments[0],
    span: { days: 7 },
  }[shape];
}

/** The comparisons that a builder would offer of a value, by operator. */
function comparisonsOf(comparable: Comparable & { operators: readonly string[] }) {
  return words.operators
    .filter(({ name }) => comparable.operators.includes(name))
    .flatMap(({ name, aliases, value: shape }) => {
      const value = valueOf(comparable, shape);
      return [name, ...aliases].map((op) => ({ op, ...(value === undefined ? {} : { value }) }));
    });
}

describe('what a builder makes of the vocabulary is accepted', () => {
  it.each(words.fields.map((field) => [field.name, field] as const))('of the field %s', (name, field) => {
    const comparisons = comparisonsOf(field);
    expect(comparisons.length).toBeGreaterThanOrEqual(field.operators.length);
    for (const comparison of comparisons) {
      expect(isAccepted({ type: 'trait', field: name, ...comparison }), JSON.stringify(comparison)).toBe(
        true,
      );
    }
    for (const op of OPERATORS.filter((one) => !field.operators.includes(one))) {
      const shape = words.operators.find((one) => one.name === op)?.value ?? 'none';
      expect(isAccepted({ type: 'trait', field: name, op, value: valueOf(field, shape) }), op).toBe(false);
    }
    const many = Array.from({ length: field.max_values + 1 }, () => valueOf(field, 'scalar'));
    if (!field.operators.includes('in')) return;
    expect(isAccepted({ type: 'trait', field: name, op: 'in', value: many })).toBe(false);
    expect(isAccepted({ type: 'trait', field: name, op: 'in', value: many.slice(1) })).toBe(true);
  });

  it('of custom attributes', () => {
    const { prefix, ...rest } = words.custom_attributes;
    for (const comparison of comparisonsOf({ ...rest, values: null })) {
      expect(isAccepted({ type: 'trait', field: `${prefix}colour`, ...comparison })).toBe(true);
    }
  });

  it.each(words.events.map((event) => [event.name, event.properties] as const))(
    'of the event %s and its properties',
    (event, properties) => {
      const counted = { type: 'event', event, aggregate: 'count', op: 'gte', value: 1 };
      expect(isAccepted(counted)).toBe(true);
      for (const { name: property, ...comparable } of properties) {
        for (const comparison of comparisonsOf(comparable)) {
          const where = [{ property, ...comparison }];
          expect(isAccepted({ ...counted, where }), JSON.stringify(where)).toBe(true);
        }
      }
    },
  );

  it.each(words.aggregates.map((aggregate) => [aggregate.name, aggregate] as const))(
    'of the aggregate %s',
    (aggregate, { needs_property, ...comparable }) => {
      for (const comparison of comparisonsOf({ ...comparable, values: null })) {
        const condition = { type: 'event', event: 'deposit_confirmed', aggregate, ...comparison };
        const with_property = { ...condition, property: 'amount' };
        expect(isAccepted(needs_property ? with_property : condition), JSON.stringify(comparison)).toBe(true);
        expect(isAccepted(needs_property ? condition : with_property)).toBe(false);
      }
    },
  );
});

it('has every field, event and operator, and says which amounts are money', () => {
  expect(segmentVocabulary.parse(words)).toEqual(JSON.parse(JSON.stringify(words)));
  expect(words.fields.map(({ name }) => name)).toEqual(Object.keys(TRAIT_FIELDS));
  expect(words.events.map(({ name }) => name)).toEqual(Object.keys(EVENTS));
  expect(words.operators.map(({ name }) => name)).toEqual([...OPERATORS]);
  const money = words.fields.filter(({ unit }) => unit === 'base_subunit').map(({ name }) => name);
  expect(money).toEqual([
    'total_deposited',
    'total_withdrawn',
    'total_wagered',
    'total_won',
    'total_bonus_wagered',
    'total_bonus_won',
    'total_credited',
    'total_debited',
    'ggr',
    'ngr',
  ]);
  const settled = words.events.find(({ name }) => name === 'bet_settled')?.properties ?? [];
  expect(settled.map(({ name, kind, unit, required }) => [name, kind, unit, required])).toEqual([
    ['amount', 'number', 'base_subunit', true],
    ['currency', 'text', null, true],
    ['bet_id', 'text', null, true],
    ['game_id', 'text', null, true],
    ['game_category', 'text', null, true],
    ['payout', 'number', 'base_subunit', true],
    ['outcome', 'text', null, true],
    ['bonus_stake', 'number', 'base_subunit', false],
    ['bonus_payout', 'number', 'base_subunit', false],
  ]);
  const level = words.events.find(({ name }) => name === 'kyc_approved')?.properties;
  expect(level?.map(({ name, kind, required }) => [name, kind, required])).toEqual([
    ['level', 'number', false],
    ['expires_at', 'date', false],
  ]);
});

it('has limits that hold', () => {
  const { conditions, where_clauses, min_steps, max_steps, depth } = words.limits;
  const condition = { type: 'random', percent: 1, salt: 's' };
  const group = (count: number) => ({
    operator: 'OR',
    conditions: Array.from({ length: count }, () => condition),
  });
  expect([conditions, conditions + 1].map((count) => isAccepted(group(count)))).toEqual([true, false]);
  const counted = { type: 'event', event: 'login', aggregate: 'count', op: 'gte', value: 1 };
  const where = (count: number) =>
    Array.from({ length: count }, () => ({ property: 'p', op: 'eq', value: 1 }));
  expect(
    [where_clauses, where_clauses + 1].map((count) => isAccepted({ ...counted, where: where(count) })),
  ).toEqual([true, false]);
  const steps = (count: number) => Array.from({ length: count }, () => ({ event: 'login' }));
  expect(
    [min_steps - 1, min_steps, max_steps, max_steps + 1].map((count) =>
      isAccepted({ type: 'sequence', steps: steps(count) }),
    ),
  ).toEqual([false, true, true, false]);
  const nested = (levels: number): object =>
    levels === 0 ? condition : { operator: 'AND', conditions: [nested(levels - 1)] };
  // The definition itself is the first group.
  expect([depth - 1, depth].map((levels) => isAccepted(nested(levels)))).toEqual([true, false]);
});
