import {
  array,
  assert,
  bigInt,
  boolean,
  constant,
  constantFrom,
  dictionary,
  integer,
  letrec,
  oneof,
  property,
  string,
} from 'fast-check';
import { expect, it } from 'vitest';
import { parseExactly, writeExactly } from '../../console/src/api/json.ts';
import { runs } from '../engines/effort.ts';

const { value } = letrec<{ value: unknown }>((tie) => ({
  value: oneof(
    string({ unit: 'grapheme' }),
    constantFrom('int:1:2:3', '"int:', '9007199254740993', String.raw`\"`),
    bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    integer(),
    boolean(),
    constant(null),
    array(tie('value'), { maxLength: 4 }),
    dictionary(
      string({ unit: 'grapheme' }).filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
}));

it('what the console writes to read and to edit has every digit of integers, and texts as they are', () => {
  assert(
    property(value, constantFrom(0, 2), (written, indent) => {
      expect(parseExactly(writeExactly(written, indent))).toEqual(written);
    }),
    { numRuns: runs(500) },
  );
});

it('a small bigint is written as a number, nothing as nothing', () => {
  expect(writeExactly({ amount: 500n, list: [1n, -2n] })).toBe('{"amount":500,"list":[1,-2]}');
  expect(writeExactly(undefined)).toBe('');
});
