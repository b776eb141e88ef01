import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonObject, mergeDeep } from '../../../src/platform/json-object.ts';
import { runs } from '../../engines/effort.ts';

// The oracle uses no recursion over two trees: it keeps a document as a flat list of paths to values that are no object
// or an empty one, and applies a patch path by path.

type Path = readonly string[];
const EMPTY = Symbol('an object without fields');

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function leavesOf(value: unknown, path: Path = []): [Path, unknown][] {
  if (!isObject(value)) return [[path, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, EMPTY]];
  return entries.flatMap(([key, child]) => leavesOf(child, [...path, key]));
}

class FlatDocument {
  #leaves = new Map<string, unknown>();

  constructor(leaves: [Path, unknown][]) {
    for (const [path, leaf] of leaves) this.#leaves.set(JSON.stringify(path), leaf);
  }

  apply(path: Path, leaf: unknown): void {
    if (leaf === EMPTY && this.#isObject(path)) return;
    for (let length = 0; length < path.length; length++) {
      this.#leaves.delete(JSON.stringify(path.slice(0, length)));
    }
    for (const key of this.#at(path)) this.#leaves.delete(key);
    if (leaf !== null) this.#leaves.set(JSON.stringify(path), leaf);
    const parent = path.slice(0, -1);
    if (this.#at(parent).length === 0) this.#leaves.set(JSON.stringify(parent), EMPTY);
  }

  /** The leaves, sorted. */
  toString(): string {
    return [...this.#leaves]
      .map(([path, leaf]) => `${path}=${leaf === EMPTY ? '{}' : JSON.stringify(leaf)}`)
      .sort()
      .join('\n');
  }

  #isObject(path: Path): boolean {
    const at = this.#at(path);
    return at.length > 1 || (at[0] !== undefined && at[0] !== JSON.stringify(path)) || this.#isEmpty(path);
  }

  #isEmpty(path: Path): boolean {
    return this.#leaves.get(JSON.stringify(path)) === EMPTY;
  }

  /** The keys of the leaf at this path and of all leaves below it. */
  #at(path: Path): string[] {
    return [...this.#leaves.keys()].filter((key) => {
      const other = JSON.parse(key) as string[];
      return path.every((part, index) => part === other[index]);
    });
  }
}

const flat = (value: unknown) => new FlatDocument(leavesOf(value)).toString();

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString', '');
const scalar = fc.constantFrom<unknown>(1, 0, 'x', '', true, false, [], [1, null], [{ a: null }], null);
const { object } = fc.letrec<{ object: JsonObject; value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('object')),
  object: fc
    .uniqueArray(fc.tuple(key, tie('value')), { selector: ([name]) => name, maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
}));

const parameters = { numRuns: runs(2_000) };

describe('mergeDeep', () => {
  it('agrees with the oracle', () => {
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const expected = new FlatDocument(leavesOf(target));
        for (const [path, leaf] of leavesOf(patch)) expected.apply(path, leaf);
        expect(flat(mergeDeep(target, patch))).toBe(String(expected));
      }),
      parameters,
    );
  });

  it('changes neither argument, and is idempotent', () => {
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const before = [flat(target), flat(patch)];
        const once = mergeDeep(target, patch);
        expect([flat(target), flat(patch)]).toEqual(before);
        expect(flat(mergeDeep(once, patch))).toBe(flat(once));
      }),
      parameters,
    );
  });

  it.each<[string, unknown, JsonObject, JsonObject]>([
    ['merges objects', { m: { q: 1, c: 2 } }, { m: { q: 3 } }, { m: { q: 3, c: 2 } }],
    ['replaces arrays', { a: [1, 2, 3] }, { a: [4] }, { a: [4] }],
    ['removes by null', { m: { q: 1, c: 2 } }, { m: { q: null } }, { m: { c: 2 } }],
    ['keeps an object that lost its last field', { m: { q: 1 } }, { m: { q: null } }, { m: {} }],
    ['puts an object in the place of something else', { m: 1 }, { m: { q: null, c: 2 } }, { m: { c: 2 } }],
    ['begins with nothing', undefined, { m: { q: 1, c: null } }, { m: { q: 1 } }],
    ['keeps null in arrays', {}, { a: [null] }, { a: [null] }],
  ])('%s', (_what, target, patch, expected) => {
    expect(mergeDeep(target, patch)).toEqual(expected);
  });

  it('does not touch prototypes', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ) as JsonObject;
    const merged = mergeDeep({}, hostile);
    expect(({} as JsonObject)['polluted']).toBeUndefined();
    expect(merged['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(Object.keys(merged)).toEqual(['__proto__', 'constructor']);
  });
});
