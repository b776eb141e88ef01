import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError, type Issue } from '../../src/errors.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { runs } from '../engines/effort.ts';
import { definitionOver } from './arbitraries.ts';
import { aggregate, and, count, not, or, trait, where } from './example-shapes.ts';
import { LIMITS } from './limits.ts';
import type { WrittenNode } from './naive.ts';

/** The issues of a refused definition; empty when it is accepted. Any other error is rethrown. */
function issuesOf(definition: unknown): Issue[] {
  try {
    readDefinition(definition);
    return [];
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'SEGMENT_DEFINITION_INVALID') throw error;
    expect(error.status).toBe(422);
    const issues = error.details?.issues ?? [];
    expect(issues.length).toBeGreaterThan(0);
    expect(error.message).toBe(`${issues[0]?.path}: ${issues[0]?.message}`);
    return issues;
  }
}

const bets = count('bet_placed', 'gte', 1);
const spend = (rest: object) => and({ ...bets, ...rest });
const sequence = (...steps: object[]) => and({ type: 'sequence', steps } as WrittenNode);
const random = (rest: object) => and({ type: 'random', percent: 5, salt: 'a', ...rest });
const mail = (rest: object) => and({ type: 'message', channel: 'email', status: 'sent', ...rest });
const raw = (json: string): unknown => JSON.parse(json);
const COND = 'definition.conditions.0';

type Refusal = [what: string, definition: unknown, path: string, allowed: RegExp];

const SHAPES: Refusal[] = [
  ['a list', [bets], 'definition', /must be a group/],
  ['a text', 'everyone', 'definition', /must be a group/],
  ['null', null, 'definition', /must be a group/],
  ['nothing', undefined, 'definition', /must be a group/],
  ['a number', 7, 'definition', /must be a group/],
  ['a condition without a group', bets, 'definition.type', /a group has operator, conditions/],
  ['an empty object', {}, 'definition.operator', /AND, OR or NOT/],
  ['an unknown operator', { operator: 'XOR', conditions: [bets] }, 'definition.operator', /AND, OR or NOT/],
  ['an operator in small letters', { operator: 'and', conditions: [bets] }, 'definition.operator', /AND/],
  ['no conditions', { operator: 'AND' }, 'definition.conditions', /at least one/],
  ['empty conditions', and(), 'definition.conditions', /at least one/],
  ['conditions that are no list', { operator: 'AND', conditions: {} }, 'definition.conditions', /a list/],
  ['an unknown key of a group', { ...and(bets), name: 'x' }, 'definition.name', /operator, conditions/],
  ['NOT of two', { operator: 'NOT', conditions: [bets, bets] }, 'definition.conditions', /NOT takes one/],
  ['a condition that is a text', { operator: 'AND', conditions: ['x'] }, COND, /a condition .* or a group/],
  [
    'a condition that is a list',
    { operator: 'AND', conditions: [[bets]] },
    COND,
    /a condition .* or a group/,
  ],
  ['an unknown type', and({ ...bets, type: 'mail' } as never), `${COND}.type`, /trait, event, sequence/],
  ['a type that is no text', and({ type: 7 } as never), `${COND}.type`, /trait, event, sequence/],
  ['a type that every object has', and({ type: 'constructor' } as never), `${COND}.type`, /trait, event/],
  [
    '__proto__ in a group',
    raw('{"operator":"AND","conditions":[],"__proto__":1}'),
    'definition.__proto__',
    /known key/,
  ],
  [
    '__proto__ in a condition',
    raw(
      '{"operator":"AND","conditions":[{"type":"trait","field":"email","op":"exists","__proto__":{"value":1}}]}',
    ),
    `${COND}.__proto__`,
    /not a known/,
  ],
  [
    '__proto__ in place of a condition',
    raw('{"operator":"AND","conditions":[{"__proto__":{"type":"trait","field":"email","op":"exists"}}]}'),
    `${COND}.__proto__`,
    /not a known/,
  ],
  ['constructor in a condition', spend({ constructor: 1 }), `${COND}.constructor`, /not a known/],
];

const TRAITS: Refusal[] = [
  ['no field', and({ type: 'trait', op: 'exists' } as never), `${COND}.field`, /./],
  [
    'an unknown field',
    and(trait('balance', 'gt', 1)),
    `${COND}.field`,
    /one of external_id, email, .*custom_attributes\.<key>/,
  ],
  ['a field of every object', and(trait('toString', 'exists')), `${COND}.field`, /one of external_id/],
  ['an id', and(trait('player_id', 'exists')), `${COND}.field`, /one of external_id/],
  ['no key of a custom attribute', and(trait('custom_attributes.', 'exists')), `${COND}.field`, /<key>/],
  ['no operator', and({ type: 'trait', field: 'email' } as never), `${COND}.op`, /one of eq, neq/],
  ['an unknown operator', and(trait('email', 'like', 'a')), `${COND}.op`, /one of eq, neq/],
  ['more than, of a text', and(trait('email', 'gt', 'a')), `${COND}.op`, /one of eq, neq, in, nin, contains/],
  ['contains, of a number', and(trait('ggr', 'contains', '1')), `${COND}.op`, /one of eq, .* between/],
  ['equal, of a date', and(trait('created_at', 'eq', '2026-01-01T00:00:00Z')), `${COND}.op`, /before, after/],
  ['a number for a text', and(trait('email', 'eq', 7)), `${COND}.value`, /a text of at most 1024/],
  ['a text for a number', and(trait('ggr', 'eq', '7')), `${COND}.value`, /a number/],
  ['null', and(trait('email', 'eq', null)), `${COND}.value`, /a text/],
  ['no value', and(trait('email', 'eq')), `${COND}.value`, /a text/],
  [
    'an object',
    and(trait('custom_attributes.a', 'eq', {})),
    `${COND}.value`,
    /true, false, a number or a text/,
  ],
  [
    'a number beyond a double',
    raw('{"operator":"AND","conditions":[{"type":"trait","field":"ggr","op":"gt","value":1e999}]}'),
    `${COND}.value`,
    /a number/,
  ],
  ['a status there is not', and(trait('status', 'eq', 'frozen')), `${COND}.value`, /one of active, /],
  [
    'a KYC status there is not',
    and(trait('kyc_status', 'in', ['none', 'maybe'])),
    `${COND}.value`,
    /each one of none/,
  ],
  ['in nothing', and(trait('email', 'in', [])), `${COND}.value`, /a list of 1 to 500/],
  ['in a text', and(trait('email', 'in', 'a')), `${COND}.value`, /a list of 1 to 500/],
  ['in a mixed list', and(trait('email', 'nin', ['a', 1])), `${COND}.value`, /each a text/],
  ['exists with a value', and(trait('email', 'exists', true)), `${COND}.value`, /omitted/],
  ['exists with null', and(trait('email', 'not_exists', null)), `${COND}.value`, /omitted/],
  ['between reversed', and(trait('ggr', 'between', [2, 1])), `${COND}.value`, /the lower first/],
  ['between one', and(trait('ggr', 'between', [1])), `${COND}.value`, /two numbers/],
  ['between texts', and(trait('ggr', 'between', ['1', '2'])), `${COND}.value`, /two numbers/],
  [
    'between a number and a time',
    and(trait('custom_attributes.a', 'between', [1, '2026-01-01T00:00:00Z'])),
    `${COND}.value`,
    /two numbers or times/,
  ],
  [
    'between times reversed',
    and(trait('created_at', 'between', ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'])),
    `${COND}.value`,
    /two times/,
  ],
  ['contains a number, of a text', and(trait('email', 'contains', 1)), `${COND}.value`, /a text/],
  ['begins with a number', and(trait('custom_attributes.a', 'starts_with', 1)), `${COND}.value`, /a text/],
  [
    'a date without offset',
    and(trait('created_at', 'after', '2026-01-01T00:00:00')),
    `${COND}.value`,
    /with an offset/,
  ],
  [
    'a date without time',
    and(trait('created_at', 'before', '2026-01-01')),
    `${COND}.value`,
    /with an offset/,
  ],
  [
    'a date that does not exist',
    and(trait('created_at', 'after', '2026-02-30T00:00:00Z')),
    `${COND}.value`,
    /offset/,
  ],
  [
    'a date beyond the engine',
    and(trait('created_at', 'after', '2999-01-01T00:00:00Z')),
    `${COND}.value`,
    /offset/,
  ],
  [
    'a span of days and hours',
    and(trait('created_at', 'within_last', { days: 1, hours: 1 })),
    `${COND}.value`,
    /"days": n/,
  ],
  [
    'a span of half a day',
    and(trait('created_at', 'within_last', { days: 0.5 })),
    `${COND}.value`,
    /whole number/,
  ],
  [
    'a span of nothing',
    and(trait('created_at', 'within_last', { days: 0 })),
    `${COND}.value`,
    /whole number/,
  ],
  ['a span that is a number', and(trait('created_at', 'not_within_last', 7)), `${COND}.value`, /"days": n/],
  ['NUL in a text', and(trait('email', 'eq', 'a\0b')), `${COND}.value`, /NUL/],
  ['half a surrogate in a list', and(trait('email', 'in', ['a', '\ud83d'])), `${COND}.value`, /surrogate/],
  ['NUL in a key', and(trait('custom_attributes.a\0b', 'exists')), `${COND}.field`, /NUL/],
];

const EVENTS: Refusal[] = [
  ['an unknown event', spend({ event: 'bet' }), `${COND}.event`, /event catalogue, or begin with custom_/],
  ['an event of every object', spend({ event: 'constructor' }), `${COND}.event`, /event catalogue/],
  ['only the prefix', spend({ event: 'custom_' }), `${COND}.event`, /event catalogue/],
  ['NUL in an event', spend({ event: 'custom_\0' }), `${COND}.event`, /event catalogue/],
  ['no event', spend({ event: undefined }), `${COND}.event`, /./],
  ['an unknown aggregate', spend({ aggregate: 'median' }), `${COND}.aggregate`, /./],
  ['an unknown key', spend({ windows: null }), `${COND}.windows`, /not a known/],
  ['sum of no property', spend({ aggregate: 'sum' }), `${COND}.property`, /is required/],
  ['count of a property', spend({ property: 'amount' }), `${COND}.property`, /omitted/],
  ['an empty property', spend({ aggregate: 'sum', property: '' }), `${COND}.property`, /./],
  ['count compared with a text', spend({ value: '1' }), `${COND}.value`, /a number/],
  ['count before a date', spend({ op: 'before', value: '2026-01-01T00:00:00Z' }), `${COND}.op`, /one of eq/],
  [
    'first_seen over a number',
    and(aggregate(['first_seen', 'login'], 'gt', 7)),
    `${COND}.op`,
    /before, after/,
  ],
  ['a window of nothing', spend({ window: {} }), `${COND}.window`, /"last".*"from".*null/],
  [
    'a window of two kinds',
    spend({ window: { last: { days: 1 }, from: 'x' } }),
    `${COND}.window.from`,
    /not a known/,
  ],
  ['a window without end', spend({ window: { from: '2026-01-01T00:00:00Z' } }), `${COND}.window`, /"to"/],
  [
    'a window of no length',
    spend({ window: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' } }),
    `${COND}.window`,
    /before `to`/,
  ],
  [
    'a window of wrong dates',
    spend({ window: { from: '2026-01-01', to: '2026-01-02' } }),
    `${COND}.window.from`,
    /with an offset/,
  ],
  [
    'a window of span 0',
    spend({ window: { last: { hours: 0 } } }),
    `${COND}.window.last.hours`,
    /whole number from 1/,
  ],
  ['a window that is a text', spend({ window: '7d' }), `${COND}.window`, /"last"/],
  ['where that is no list', spend({ where: { property: 'a', op: 'exists' } }), `${COND}.where`, /./],
  ['where without a property', spend({ where: [{ op: 'exists' }] }), `${COND}.where.0.property`, /./],
  [
    'where with an unknown key',
    spend({ where: [{ ...where('a', 'exists'), type: 1 }] }),
    `${COND}.where.0.type`,
    /not a known/,
  ],
  [
    'where on money: a text',
    spend({ where: [where('amount', 'gt', '5')] }),
    `${COND}.where.0.value`,
    /a number/,
  ],
  [
    'where on money: contains',
    spend({ where: [where('payout', 'contains', '5')] }),
    `${COND}.where.0.op`,
    /one of eq/,
  ],
  [
    'where: exists with a value',
    spend({ where: [where('game_id', 'exists', 1)] }),
    `${COND}.where.0.value`,
    /omitted/,
  ],
  ['where: NUL in a property', spend({ where: [where('\0', 'exists')] }), `${COND}.where.0.property`, /NUL/],
];

const OTHERS: Refusal[] = [
  ['one step', sequence({ event: 'login' }), `${COND}.steps`, /./],
  ['steps that are no list', and({ type: 'sequence', steps: {} } as never), `${COND}.steps`, /./],
  [
    'an unknown event in a step',
    sequence({ event: 'login' }, { event: 'x' }),
    `${COND}.steps.1.event`,
    /event catalogue/,
  ],
  [
    'within on the first step',
    sequence({ event: 'login', within: { days: 1 } }, { event: 'logout' }),
    `${COND}.steps.0.within`,
    /omitted/,
  ],
  [
    'within of span 0',
    sequence({ event: 'login' }, { event: 'logout', within: { days: 0 } }),
    `${COND}.steps.1.within.days`,
    /whole number from 1/,
  ],
  [
    'an unknown key of a step',
    sequence({ event: 'login' }, { event: 'logout', count: 2 }),
    `${COND}.steps.1.count`,
    /not a known/,
  ],
  [
    'where of a step',
    sequence({ event: 'login' }, { event: 'bet_placed', where: [where('amount', 'gt', 'x')] }),
    `${COND}.steps.1.where.0.value`,
    /number/,
  ],
  [
    'a segment that is no id',
    and({ type: 'segment', segment_id: 'vip', op: 'in' }),
    `${COND}.segment_id`,
    /./,
  ],
  ['a segment compared', and({ type: 'segment', segment_id: randomUUID(), op: 'eq' }), `${COND}.op`, /./],
  ['a message without a channel', mail({ channel: undefined }), `${COND}.channel`, /email.*sms.*push/],
  ['a message by fax', mail({ channel: 'fax' }), `${COND}.channel`, /email.*sms.*push/],
  ['a message without a status', mail({ status: undefined }), `${COND}.status`, /sent.*opened/],
  ['a message that waits', mail({ status: 'queued' }), `${COND}.status`, /sent.*opened/],
  ['a message of a campaign by name', mail({ campaign_id: 'spring' }), `${COND}.campaign_id`, /./],
  ['a message in no window', mail({ window: 'ever' }), `${COND}.window`, /last/],
  ['a message compared', mail({ op: 'gte', value: 1 }), `${COND}.op`, /known/],
  ['no salt', random({ salt: undefined }), `${COND}.salt`, /./],
  ['an empty salt', random({ salt: '' }), `${COND}.salt`, /./],
  ['half a surrogate in a salt', random({ salt: '\udc00' }), `${COND}.salt`, /surrogate/],
  ['percent with five decimals', random({ percent: 0.00001 }), `${COND}.percent`, /4 decimals/],
  ['percent as a text', random({ percent: '5' }), `${COND}.percent`, /./],
  ['percent 101', random({ percent: 101 }), `${COND}.percent`, /100/],
];

describe('an invalid definition is refused with the path of the mistake and what is allowed there', () => {
  it.each([...SHAPES, ...TRAITS, ...EVENTS, ...OTHERS])('%s', (_what, definition, path, allowed) => {
    const issue = issuesOf(definition).find((one) => one.path === path);
    expect(issue, JSON.stringify(issuesOf(definition))).toBeDefined();
    expect(issue?.message).toMatch(allowed);
  });

  it.each(LIMITS.map((limit) => [limit.what, limit] as const))('%s', (_what, { most, least, definition }) => {
    expect(issuesOf(definition(most))).toEqual([]);
    expect(issuesOf(definition(most + 1))).toHaveLength(1);
    if (least === undefined) return;
    expect(issuesOf(definition(least))).toEqual([]);
    expect(issuesOf(definition(least - 1))).toHaveLength(1);
  });

  it('nesting deeper than any engine supports', () => {
    const depth = 30_000;
    const value = raw(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    expect(issuesOf(and(trait('email', 'eq', value)))).not.toEqual([]);
    expect(issuesOf(value)).not.toEqual([]);
  });

  it('a definition over the size limit gets only that issue, whatever else is wrong with it', () => {
    const large = and(trait('email', 'eq', 7), trait('phone', 'eq', '\u00e9'.repeat(32_768)));
    expect(issuesOf(large)).toEqual([
      {
        path: 'definition',
        message: expect.stringMatching(/bytes of JSON: at most 65536 are allowed/) as string,
      },
    ]);
  });
});

describe('a refusal quotes what was sent', () => {
  const messageAt = (definition: unknown, path: string) =>
    issuesOf(definition).find((one) => one.path === path)?.message;

  it.each<[unknown, string, RegExp]>([
    [
      and(trait('password_hash', 'exists')),
      `${COND}.field`,
      /^"password_hash" is not a valid field; .*one of external_id/,
    ],
    [and(trait('total_deposit', 'gt', 1)), `${COND}.field`, /; the nearest is total_deposited$/],
    [and(trait('email', 'like', 'a')), `${COND}.op`, /^"like" is not a valid operator; it must be one of eq/],
    [and(trait('ggr', 'contains', '1')), `${COND}.op`, /^"contains" is not a valid operator; it must/],
    [and(trait('ggr', 'gt', '7')), `${COND}.value`, /^"7" is not allowed; it must be a number$/],
    [and(trait('email', 'nin', ['a', 12])), `${COND}.value`, /^12 is not allowed; /],
    [and(trait('email', 'in', Array(501).fill('a'))), `${COND}.value`, /^a list of 501 is not allowed; /],
    [
      spend({ event: 'bet_place' }),
      `${COND}.event`,
      /^"bet_place" is not a valid event; .*; the nearest (is|are) bet_placed/,
    ],
    [spend({ aggregate: 'median' }), `${COND}.aggregate`, /^"median"/],
    [and({ type: 'mail' } as never), `${COND}.type`, /^"mail" is not a valid type of condition; /],
    [
      { operator: 'XOR', conditions: [bets] },
      'definition.operator',
      /^"XOR" is not a valid operator of a group; /,
    ],
    [and('x' as never), COND, /^"x" is not allowed; it must be a condition/],
  ])('%j', (definition, path, message) => {
    expect(messageAt(definition, path)).toMatch(message);
  });

  it('shortened, and without control characters', () => {
    const property = fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (field) => {
      const [issue] = issuesOf(and(trait(`?${field}`, 'exists'), trait('ggr', 'gt', field)));
      expect(issue?.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(issue?.message.isWellFormed()).toBe(true);
    });
    fc.assert(property, { numRuns: runs(300) });
    const long = messageAt(and(trait('x'.repeat(200), 'exists')), `${COND}.field`);
    expect(long).toMatch(/^"x{78}… is not a valid field/);
  });
});

describe('several mistakes at once', () => {
  it('are all reported', () => {
    const definition = {
      operator: 'NOR',
      name: 'x',
      conditions: [
        trait('balance', 'gt', 1),
        { operator: 'NOT', conditions: [trait('email', 'eq', 7), trait('ggr', 'contains', 'x')] },
        {
          ...bets,
          event: 'bet',
          aggregate: 'sum',
          value: 'x',
          where: [where('amount', 'in', []), where('a', 'exists', 1)],
        },
        { type: 'sequence', steps: [{ event: 'x', within: { days: 1 } }, { event: 'y' }] },
        or(),
      ],
    };
    expect(issuesOf(definition).map(({ path }) => path.replace('definition.', ''))).toEqual([
      'name',
      'operator',
      'conditions.0.field',
      'conditions.1.conditions',
      'conditions.1.conditions.0.value',
      'conditions.1.conditions.1.op',
      'conditions.2.event',
      'conditions.2.where.0.value',
      'conditions.2.where.1.value',
      'conditions.2.property',
      'conditions.2.value',
      'conditions.3.steps.0.event',
      'conditions.3.steps.0.within',
      'conditions.3.steps.1.event',
      'conditions.4.conditions',
    ]);
  });

  it('are reported up to the first twenty', () => {
    const wrong = Array.from({ length: 30 }, () => trait('balance', 'gt', 1));
    expect(issuesOf(and(...wrong))).toHaveLength(20);
  });
});

/** The value after a round trip through JSON, as in a request. */
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
const nodesOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(nodesOf)] : [];

describe('any JSON value', () => {
  it('is accepted or refused, without any other error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => void issuesOf(throughJson(value))),
      { numRuns: runs(2_000) },
    );
  });

  it('at any position of a valid definition is accepted or refused, without any other error', () => {
    const keys = fc.constantFrom(
      'type',
      'op',
      'value',
      'where',
      'steps',
      'conditions',
      'window',
      '__proto__',
      'x',
    );
    const change = fc.record({ place: fc.nat(), key: fc.oneof(keys, fc.nat(20)), value: fc.jsonValue() });
    const sound = definitionOver([randomUUID()]);
    const property = fc.property(sound, fc.array(change, { maxLength: 4 }), (definition, changes) => {
      const changed = throughJson(definition);
      for (const { place, key, value } of changes) {
        const nodes = nodesOf(changed);
        const node = nodes[place % nodes.length] as Record<string, unknown>;
        const names = Object.keys(node);
        const name = typeof key === 'number' ? (names[key % (names.length || 1)] ?? 'x') : key;
        Object.defineProperty(node, name, { value, enumerable: true, configurable: true, writable: true });
      }
      issuesOf(throughJson(changed));
    });
    fc.assert(property, { numRuns: runs(3_000) });
  });

  it('that is a definition of the language is accepted', () => {
    const property = fc.property(definitionOver([randomUUID()]), (definition) => {
      expect(issuesOf(definition)).toEqual([]);
      expect(readDefinition(definition)).toEqual(readDefinition(throughJson(definition)));
    });
    fc.assert(property, { numRuns: runs(1_000) });
  });

  it('may be NOT of a group', () => {
    expect(issuesOf(not(and(bets, bets)))).toEqual([]);
  });
});
