import { expect, it } from 'vitest';
import { z } from 'zod';
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
  expect(schema.safeParse(value).error?.issues.map(faultOf)).toEqual([message]);
});
