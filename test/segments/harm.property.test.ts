import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { HARM_SIGNS, harmWarnings, type HarmSign } from '../../src/segments/language/harm.ts';
import { runs } from '../engines/effort.ts';
import {
  matches,
  type NaiveEvent,
  type NaivePlayer,
  type WrittenCondition,
  type WrittenGroup,
  type WrittenNode,
} from './naive.ts';

const NOW_MS = Date.UTC(2026, 4, 15, 12);

type Written = Record<string, unknown>;
const codeOf = (condition: Written, is_inside_not = false): HarmSign | undefined => {
  const operator = is_inside_not ? 'NOT' : 'AND';
  return harmWarnings(readDefinition({ operator, conditions: [condition] }))[0]?.code;
};
const trait = (field: string, op: string, value?: unknown) => ({
  type: 'trait',
  field,
  op,
  ...(value === undefined ? {} : { value }),
});
const attribute = (name: string, op: string, value?: unknown) =>
  trait(`custom_attributes.${name}`, op, value);
const counted = (event: string, op: string, value: unknown, rest: Written = {}) => ({
  type: 'event',
  event,
  aggregate: 'count',
  op,
  value,
  ...rest,
});
const last = (span: object) => ({ window: { last: span } });

describe('a condition that selects by a sign of harm', () => {
  test.each<[HarmSign, Written]>([
    ['LOSSES', trait('ggr', 'gt', 10_000)],
    ['LOSSES', trait('ggr', 'between', [1, 500])],
    ['LOSSES', trait('ngr', 'gt', 10_000)],
    ['LOSSES', attribute('ngr_30d', 'gte', 500)],
    ['LOSSES', attribute('ggr', 'gt', 0)],
    ['LOSSES', counted('bet_lost', '>=', 20, last({ days: 1 }))],
    [
      'LOSSES',
      counted('bet_settled', 'gt', 5, { where: [{ property: 'outcome', op: 'eq', value: 'lost' }] }),
    ],
    ['LOSSES', attribute('net_loss_30d', 'gte', 500)],
    ['CHASED_LOSSES', { type: 'sequence', steps: [{ event: 'bet_lost' }, { event: 'deposit_confirmed' }] }],
    ['CHASED_LOSSES', attribute('is_chasing', 'eq', true)],
    ['MANY_DEPOSITS', counted('deposit_confirmed', 'gte', 3, last({ days: 1 }))],
    ['MANY_DEPOSITS', counted('deposit_confirmed', 'gt', 9, last({ days: 7 }))],
    ['FAILED_DEPOSITS', counted('deposit_failed', 'gt', 0)],
    ['FAILED_DEPOSITS', { ...counted('deposit_failed', 'gt', 0), aggregate: 'max', property: 'amount' }],
    ['FAILED_DEPOSITS', counted('custom_deposit_declined', 'gte', 1)],
    ['FAILED_DEPOSITS', counted('deposit_reversed', 'gte', 1)],
    ['FAILED_DEPOSITS', counted('custom_chargeback', 'gte', 1)],
    ['CANCELLED_WITHDRAWALS', counted('withdrawal_failed', 'gte', 1)],
    ['CANCELLED_WITHDRAWALS', counted('withdrawal_reversed', 'gte', 1)],
    [
      'LOSSES',
      counted('balance_credited', 'gte', 1, { where: [{ property: 'reason', op: 'eq', value: 'cashback' }] }),
    ],
    ['CANCELLED_WITHDRAWALS', counted('custom_withdrawal_cancelled', 'eq', 1)],
    [
      'LIMITS_REACHED',
      {
        type: 'event',
        event: 'loss_limit_reached',
        aggregate: 'last_seen',
        op: 'within_last',
        value: { days: 7 },
      },
    ],
    ['LONG_SESSIONS', counted('session_limit_exceeded', 'gte', 1)],
    [
      'LONG_SESSIONS',
      counted('session_end', 'gt', 0, { where: [{ property: 'duration_minutes', op: 'gt', value: 240 }] }),
    ],
    [
      'NIGHT_PLAY',
      counted('bet_placed', 'gte', 1, { where: [{ property: 'local_hour', op: 'lt', value: 6 }] }),
    ],
    ['NIGHT_PLAY', attribute('night_player', 'eq', true)],
    ['AT_RISK', attribute('rg_risk', 'eq', 'strong')],
    ['AT_RISK', attribute('rg_risk', 'neq', 'none')],
    ['AT_RISK', attribute('is_at_risk', 'eq', true)],
    ['AT_RISK', attribute('risk_score', 'gt', 70)],
    ['EXCLUDED', trait('status', 'eq', 'self_excluded')],
    ['EXCLUDED', trait('status', 'nin', ['active', 'banned'])],
    ['EXCLUDED', counted('cooldown_entered', 'gte', 1)],
  ])('is named %s: %j', (code, condition) => {
    expect(codeOf(condition)).toBe(code);
    // Left out they are protected.
    expect(codeOf(condition, true)).toBeUndefined();
    expect(codeOf({ operator: 'NOT', conditions: [condition] }, true)).toBe(code);
  });

  test.each<[Written]>([
    [trait('ggr', 'lt', 0)],
    [trait('ggr', 'gte', 0)],
    [trait('ngr', 'lt', 0)],
    [trait('total_credited', 'gt', 100)],
    [trait('total_bonus_won', 'gt', 100)],
    [counted('balance_credited', 'gte', 1, { where: [{ property: 'reason', op: 'eq', value: 'prize' }] })],
    [counted('bet_settled', 'gte', 1, { where: [{ property: 'bonus_payout', op: 'gt', value: 0 }] })],
    [attribute('single_ngrams', 'gt', 0)],
    [trait('total_deposited', 'gt', 100)],
    [trait('status', 'eq', 'active')],
    [trait('status', 'neq', 'self_excluded')],
    [trait('status', 'exists')],
    [attribute('is_at_risk', 'eq', false)],
    [attribute('is_at_risk', 'neq', true)],
    [attribute('is_at_risk', 'not_exists')],
    [attribute('rg_risk', 'neq', 'strong')],
    [attribute('rg_risk', 'eq', 'low')],
    [attribute('risk_score', 'lt', 70)],
    [attribute('favourite', 'eq', 'blossom')],
    [attribute('last_purchase_amount', 'gt', 10)],
    [attribute('pharmacy', 'eq', 'north')],
    [attribute('harmony_score', 'gt', 1)],
    [attribute('fraud_risk_score', 'gt', 1)],
    [counted('custom_purchase', 'gte', 1)],
    [counted('deposit_failed', 'eq', 0)],
    [counted('bet_lost', 'lte', 3)],
    [counted('deposit_confirmed', 'gte', 3, last({ days: 30 }))],
    [counted('deposit_confirmed', 'gte', 1, last({ days: 1 }))],
    [counted('bet_settled', 'gt', 5, { where: [{ property: 'outcome', op: 'eq', value: 'won' }] })],
    [counted('balance_credited', 'gte', 1)],
    [
      counted('balance_credited', 'gte', 1, {
        where: [{ property: 'reason', op: 'neq', value: 'cashback' }],
      }),
    ],
    [counted('balance_credited', 'gte', 1, { where: [{ property: 'reason', op: 'eq', value: 'prize' }] })],
    [counted('custom_survey', 'gte', 1, { where: [{ property: 'reason', op: 'eq', value: 'cashback' }] })],
    [counted('bet_voided', 'gte', 1)],
    [{ type: 'sequence', steps: [{ event: 'deposit_confirmed' }, { event: 'login' }] }],
    [{ type: 'random', percent: 5, salt: 'a' }],
  ])('is not %j', (condition) => {
    expect(codeOf(condition)).toBeUndefined();
  });

  it('has a text that says why and what to do', () => {
    for (const text of Object.values(HARM_SIGNS)) expect(text).toMatch(/^This selects .+\. .+\./);
  });
});

/** A player with nothing, and how one differs who has a sign of harm. */
const FINE: NaivePlayer = {
  player_id: '00000000-0000-4000-8000-000000000001',
  traits: { status: 'active', ggr: 0, ngr: 0 },
  custom_attributes: { is_at_risk: false },
  events: [],
  messages: [],
  segment_ids: new Set(),
};
const failure: NaiveEvent = {
  event: 'deposit_failed',
  occurred_ms: NOW_MS - 1_000,
  base_amount: 100,
  base_payout: null,
  properties: {},
};
const HARMED: readonly NaivePlayer[] = [
  { ...FINE, traits: { ...FINE.traits, status: 'self_excluded' } },
  ...[1, 99, 100, 101, 1e12].flatMap((lost) => [
    { ...FINE, traits: { ...FINE.traits, ggr: lost } },
    { ...FINE, traits: { ...FINE.traits, ngr: lost } },
  ]),
  { ...FINE, custom_attributes: { is_at_risk: true } },
  ...[1, 2, 3].map((count) => ({ ...FINE, events: Array.from({ length: count }, () => failure) })),
];

const numeric = (values: readonly number[]) =>
  fc.oneof(
    fc.record({
      op: fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'),
      value: fc.constantFrom<unknown>(...values),
    }),
    fc.record({ op: fc.constantFrom('in', 'nin'), value: fc.constant<unknown>(values) }),
  );
const leaf: fc.Arbitrary<WrittenCondition> = fc.oneof(
  fc
    .tuple(fc.constantFrom('ggr', 'ngr'), numeric([0, 100]))
    .map(([field, rest]) => ({ type: 'trait' as const, field, ...rest })),
  fc
    .oneof(
      fc.record({
        op: fc.constantFrom('eq', 'neq'),
        value: fc.constantFrom<unknown>('active', 'self_excluded', 'banned'),
      }),
      fc.record({
        op: fc.constantFrom('in', 'nin'),
        value: fc.constantFrom<unknown>(['active'], ['self_excluded', 'banned'], ['active', 'self_excluded']),
      }),
    )
    .map((rest) => ({ type: 'trait' as const, field: 'status', ...rest })),
  fc
    .record({ op: fc.constantFrom('eq', 'neq'), value: fc.constantFrom<unknown>(true, false) })
    .map((rest) => ({ type: 'trait' as const, field: 'custom_attributes.is_at_risk', ...rest })),
  numeric([0, 1, 2]).map((rest) => ({
    type: 'event' as const,
    event: 'deposit_failed',
    aggregate: 'count',
    ...rest,
  })),
);
const group = (child: fc.Arbitrary<WrittenNode>): fc.Arbitrary<WrittenGroup> =>
  fc.oneof(
    fc.record({
      operator: fc.constantFrom('AND', 'OR'),
      conditions: fc.array(child, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ operator: fc.constant('NOT'), conditions: child.map((only) => [only]) }),
  );
const node = (depth: number): fc.Arbitrary<WrittenNode> =>
  depth === 0 ? leaf : fc.oneof(leaf, group(node(depth - 1)));

/** Each condition alone within the groups around it, with its path. */
function* alone(written: WrittenGroup, path = 'definition'): Generator<[string, WrittenGroup]> {
  for (const [i, child] of written.conditions.entries()) {
    const at = `${path}.conditions.${i}`;
    const around = (only: WrittenNode): WrittenGroup => ({ ...written, conditions: [only] });
    if ('operator' in child) for (const [inner, one] of alone(child, at)) yield [inner, around(one)];
    else yield [at, around(child)];
  }
}

test('warns of exactly the conditions that take somebody harmed and not the same person unharmed', () => {
  fc.assert(
    fc.property(group(node(3)), (written) => {
      const expected = [...alone(written)].flatMap(([path, one]) =>
        HARMED.some((player) => matches(one, player, NOW_MS)) && !matches(one, FINE, NOW_MS) ? [path] : [],
      );
      expect(harmWarnings(readDefinition(written)).map(({ path }) => path)).toEqual(expected);
    }),
    { numRuns: runs(1_000) },
  );
});
