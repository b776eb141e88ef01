import { assert, boolean, constantFrom, dictionary, integer, letrec, oneof, property } from 'fast-check';
import { expect, test } from 'vitest';
import { fieldChanges } from '../../console/src/format/field-changes.ts';
import { runs } from '../engines/effort.ts';

type Json = boolean | number | string | Json[] | { [name: string]: Json };

const { fields } = letrec<{ value: Json; fields: Record<string, Json> }>((tie) => ({
  value: oneof({ depthSize: 'small' }, integer(), boolean(), constantFrom('', 'a', 'b'), tie('fields')),
  fields: dictionary(constantFrom('name', 'config', 'a', 'b'), tie('value') as never, { maxKeys: 3 }),
}));

/** The leaves of a record by their paths; a record without fields is a leaf. */
function leavesOf(value: Json, path: string): Map<string, string> {
  const is_leaf = typeof value !== 'object' || Object.keys(value).length === 0;
  if (is_leaf && path !== '') return new Map([[path, JSON.stringify(value)]]);
  const inner = Object.entries(value as Record<string, Json>);
  return new Map(inner.flatMap(([name, one]) => [...leavesOf(one, path === '' ? name : `${path}.${name}`)]));
}

test('every leaf that differs is in a change, and no other', () => {
  assert(
    property(fields, fields, (before, after) => {
      const [was, is] = [leavesOf(before, ''), leavesOf(after, '')];
      const paths = [...new Set([...was.keys(), ...is.keys()])];
      // A record that is empty on one side alone is shown by the fields that it has on the other.
      const has_fields = (path: string) => paths.some((one) => one.startsWith(`${path}.`));
      const differing = paths.filter((path) => was.get(path) !== is.get(path) && !has_fields(path));
      const changes = fieldChanges(before, after);
      const covers = (path: string) =>
        changes.filter((one) => path === one.path || path.startsWith(`${one.path}.`)).length;
      expect(differing.map(covers)).toEqual(differing.map(() => 1));
      for (const { path, before: a, after: b } of changes) {
        expect(JSON.stringify(a)).not.toBe(JSON.stringify(b));
        expect(differing.some((one) => one === path || one.startsWith(`${path}.`))).toBe(true);
      }
      expect(fieldChanges(before, before)).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

test('a record that is made or deleted is shown field by field', () => {
  const template = { name: 'Spins', config: { count: 10, currency: 'EUR' }, tags: [] };
  expect(fieldChanges(null, template)).toEqual([
    { path: 'name', before: undefined, after: 'Spins' },
    { path: 'config.count', before: undefined, after: 10 },
    { path: 'config.currency', before: undefined, after: 'EUR' },
    { path: 'tags', before: undefined, after: [] },
  ]);
  expect(fieldChanges(template, null).map(({ path, after }) => [path, after])).toEqual([
    ['name', undefined],
    ['config.count', undefined],
    ['config.currency', undefined],
    ['tags', undefined],
  ]);
});

test('personal data is masked, also where two values have one mask', () => {
  const change = fieldChanges({ email: 'anna@example.com', n: 1n }, { email: 'adam@example.com', n: 1n });
  expect(change).toEqual([{ path: 'email', before: 'a•••@example.com', after: 'a•••@example.com' }]);
});
