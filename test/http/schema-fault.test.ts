import { expect, it } from 'vitest';
import { z } from 'zod';
import { issuesOf } from '../../src/http/error-handler.ts';
import { faultOf } from '../../src/http/schema-fault.ts';

const amount = z.union([z.int().min(1), z.string().regex(/^[1-9]\d{0,27}$/, 'must be digits')]);

it.each<[string, z.ZodType, unknown, string]>([
  ['a short text', z.string().min(3), 'a', 'must have at least 3 characters'],
  ['an empty text', z.string().min(1), '', 'must not be empty'],
  ['a long list', z.array(z.int()).max(1), [1, 2], 'must have at most 1 element'],
  ['a large number', z.coerce.number().int().max(200), '500', 'must be at most 200'],
  ['a number of 0', z.number().positive(), 0, 'must be more than 0'],
  ['another type', z.string(), 1.1, 'must be a string'],
  ['a fraction', z.int(), 1.5, 'must be a whole number'],
  [
    'no time',
    z.iso.datetime(),
    'yesterday',
    'must be a time in ISO 8601 with a zone, like 2026-01-31T12:00:00Z',
  ],
  ['no UUID', z.uuid(), 'x', 'must be a UUID'],
  ['a pattern without words', z.string().regex(/^a$/), 'b', 'does not have the format of this field'],
  ['an amount', amount, '10.00', 'must be digits'],
  ['an enum', z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [
    'a key',
    z.record(z.string().max(2), z.int()),
    { abc: 1 },
    'has a key that is not valid: it must have at most 2 characters',
  ],
  ['a step', z.number().multipleOf(5), 7, 'must be a multiple of 5'],
  ['words of the author', z.string().min(3, 'must be a code'), 'a', 'must be a code'],
])('%s is worded without the library', (_what, schema, value, message) => {
  expect(schema.safeParse(value).error?.issues.map((issue) => faultOf(issue))).toEqual([message]);
});

const MANY = Array.from({ length: 60 }, (_, i) => `name_${i}`) as [string, ...string[]];
const step = z.strictObject({ event: z.string(), aggregate: z.enum(['count', 'sum']).optional() });
const series = z.strictObject({
  of: z.array(z.union([z.strictObject({ metric: z.enum(['ggr', 'ngr', 'deposits']) }), step])),
});
const range = z.strictObject({
  range: z.union([
    z.strictObject({ from: z.string(), to: z.string() }),
    z.strictObject({ last: z.strictObject({ days: z.int() }) }),
  ]),
});
const cohort = z.strictObject({ cohort: z.union([z.enum(['signup', 'first_deposit']), step]) });
const kinds = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('trend') }),
  z.strictObject({ kind: z.literal('funnel') }),
]);
const NAMED = z.strictObject({ name: z.enum(MANY) });
const first_50 = MANY.slice(0, 50).join(', ');

it.each<[string, z.ZodType, unknown, [string, string][]]>([
  [
    'a misspelt kind',
    kinds,
    { kind: 'trendd' },
    [['kind', 'must be one of trend, funnel, not "trendd"; the nearest is trend']],
  ],
  ['no kind', kinds, {}, [['kind', 'must be one of trend, funnel']]],
  ['a kind of another type', kinds, { kind: ['x'] }, [['kind', 'must be one of trend, funnel']]],
  [
    'a kind that every object has',
    z.looseObject({ kinds }),
    { kinds: { kind: 'constructor' } },
    [['kinds.kind', 'must be one of trend, funnel, not "constructor"']],
  ],
  [
    'the only name',
    z.strictObject({ kind: z.literal('trend') }),
    { kind: 'Trend' },
    [['kind', 'must be trend, not "Trend"']],
  ],
  [
    'a misspelt name in one form of several',
    series,
    { of: [{ metric: 'ggr' }, { metric: 'ggrr' }] },
    [['of.1.metric', 'must be one of ggr, ngr, deposits, not "ggrr"; the nearest is ggr']],
  ],
  [
    'two faults in the other form',
    series,
    { of: [{ event: 7, aggregate: 'summ' }] },
    [
      ['of.0.event', 'must be a string'],
      ['of.0.aggregate', 'must be one of count, sum, not "summ"; the nearest is sum'],
    ],
  ],
  [
    'an object that has none of the forms',
    series,
    { of: [{}] },
    [
      [
        'of.0',
        'has none of the forms of this field: metric must be one of ggr, ngr, deposits, or event is required',
      ],
    ],
  ],
  [
    'a misspelt field of a form',
    range,
    { range: { last: { dayz: 3 } } },
    [
      ['range.last.days', 'is required'],
      ['range.last.dayz', 'is not a known field'],
    ],
  ],
  [
    'a name where an object may be, too',
    cohort,
    { cohort: 'signupp' },
    [
      [
        'cohort',
        'must be one of signup, first_deposit, or must be an object, not "signupp"; the nearest is signup',
      ],
    ],
  ],
  [
    'an object where a name may be, too',
    cohort,
    { cohort: { evnt: 'login' } },
    [
      ['cohort.event', 'is required'],
      ['cohort.evnt', 'is not a known field'],
    ],
  ],
  [
    'a name of a long list',
    NAMED,
    { name: 'nothing' },
    [['name', `must be one of ${first_50} and 10 more, not "nothing"`]],
  ],
  [
    'a long text with what changes a line',
    kinds,
    { kind: `\u202e\n${'x'.repeat(1_000)}` },
    [['kind', `must be one of trend, funnel, not "\\u{202e}\\n${'x'.repeat(68)}…`]],
  ],
])('%s is found where it is, quoted, with what is allowed', (_what, schema, sent, faults) => {
  const { error } = schema.safeParse(sent);
  const issues = error === undefined ? [] : issuesOf(error, sent);
  expect(issues.map(({ path, message }) => [path, message])).toEqual(faults);
});

it('nothing is quoted when it is not known what was sent', () => {
  const { error } = kinds.safeParse({ kind: 'trendd' });
  expect(error === undefined ? [] : issuesOf(error)).toEqual([
    { path: 'kind', message: 'must be one of trend, funnel' },
  ]);
});

it('no more than 100 faults are written, each of a bounded length', () => {
  const sent = { of: Array.from({ length: 2_000 }, () => ({ metric: 'g'.repeat(5_000) })) };
  const { error } = series.safeParse(sent);
  const issues = error === undefined ? [] : issuesOf(error, sent);
  expect(issues).toHaveLength(100);
  expect(Math.max(...issues.map(({ message }) => message.length))).toBeLessThan(150);
});
