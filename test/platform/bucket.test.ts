import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { bucketOf, fmix32, fnv1a } from '../../src/platform/bucket.ts';

it.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['b', 0xe70c2de5],
  ['foo', 0xa9f37ed7],
  ['foobar', 0xbf9cf968],
  ['chongo was here!\n', 0xd49930d5],
])('hashes %j like the published FNV-1a', (text, hash) => {
  expect(fnv1a(text)).toBe(hash);
});

it('hashes the UTF-8 bytes of a text', () => {
  let hash = 0x811c9dc5n;
  for (const byte of [0xc3, 0xa9, 0xf0, 0x9f, 0x8e, 0xb0])
    hash = ((hash ^ BigInt(byte)) * 16777619n) & 0xffffffffn;
  expect(fnv1a('é🎰')).toBe(Number(hash));
});

it.each([
  [0, 0],
  [1, 0x514e28b7],
  [2, 0x30f4c306],
  [0xffffffff, 0x81f16f39],
])("mixes %i like MurmurHash3's finaliser", (hash, mixed) => {
  expect(fmix32(hash)).toBe(mixed);
});

it('maps every hash to a bucket, exactly, however many there are', () => {
  const total = fc.integer({ min: 1, max: 2 ** 36 });
  fc.assert(
    fc.property(fc.string(), total, (text, parts) => {
      const hash = BigInt(fmix32(fnv1a(text)));
      expect(BigInt(bucketOf(text, parts))).toBe((hash * BigInt(parts)) / 2n ** 32n);
    }),
  );
});
