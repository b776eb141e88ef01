import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../src/errors.ts';
import { codingOf, inflated } from '../../src/http/inflate.ts';

const KIB = 1024;
const LIMIT = 1024 * KIB;
const WAYS = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
] as const;

/** Text that compresses to about a quarter. */
function textOf(bytes: number): Buffer {
  let text = '';
  for (let one = 7; text.length < bytes; one = (one * 48_271) % 2_147_483_647) text += `${one % 1e6},`;
  return Buffer.from(text.slice(0, bytes));
}

const inflate = async (encoding: string, body: Buffer, max_bytes = LIMIT) =>
  inflated({ 'content-encoding': encoding }, body, max_bytes);

async function codeOf(outcome: Promise<unknown>): Promise<string> {
  return outcome.then(
    () => 'taken',
    (error: unknown) => (error as ApiError).code,
  );
}

describe.each(WAYS)('%s', (encoding, compress) => {
  it.each([0, 1, 5 * KIB, 200 * KIB, LIMIT])('gives %i bytes back as they were', async (bytes) => {
    const text = textOf(bytes);
    expect((await inflate(encoding, compress(text))).equals(text)).toBe(true);
  });

  it.each([5 * KIB, LIMIT])('of %i bytes stops at the limit of the body', async (limit) => {
    const compressed = compress(textOf(limit + 1));
    expect(await codeOf(inflate(encoding, compressed, limit))).toBe('PAYLOAD_TOO_LARGE');
  });

  it('over 100 times as large is refused, unless it is short', async () => {
    expect(await codeOf(inflate(encoding, compress(Buffer.alloc(LIMIT, ' '))))).toBe('PAYLOAD_TOO_LARGE');
    expect(await codeOf(inflate(encoding, compress(Buffer.alloc(64 * KIB, ' '))))).toBe('taken');
    const dense = Buffer.concat([textOf(4 * KIB), Buffer.alloc(150 * KIB, ' ')]);
    const compressed = compress(dense);
    expect(dense.length / compressed.length).toBeGreaterThan(50);
    expect(dense.length / compressed.length).toBeLessThan(100);
    expect(await codeOf(inflate(encoding, compressed))).toBe('taken');
  });

  it.each([100, 300 * KIB])('of %i bytes that ends early, or is broken, is malformed', async (bytes) => {
    const whole = compress(textOf(bytes));
    for (const end of [0, 1, 5, whole.length >> 1, whole.length - 1])
      expect(await codeOf(inflate(encoding, whole.subarray(0, end))), String(end)).toBe('BODY_MALFORMED');
    // Nothing in a stream without header shows that it was changed.
    if (compress === deflateRawSync) return;
    const broken = Buffer.from(whole);
    broken.fill(0xff, whole.length >> 1, (whole.length >> 1) + 8);
    expect(await codeOf(inflate(encoding, broken))).toBe('BODY_MALFORMED');
  });
});

it('a plain body is taken as it is, without a promise', () => {
  const body = Buffer.from('{}');
  for (const headers of [{}, { 'content-encoding': '' }, { 'content-encoding': 'Identity' }])
    expect(inflated(headers, body, 1)).toBe(body);
});

it.each(['br', 'zstd', 'compress', 'utf-8', 'gzip, gzip', 'gzip,deflate', 'constructor', '__proto__'])(
  'the encoding %s is not supported',
  (encoding) => {
    expect(() => codingOf({ 'content-encoding': encoding })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MEDIA_TYPE' }),
    );
  },
);

it('encodings are read without case', () => {
  expect([codingOf({ 'content-encoding': ' GZIP ' }), codingOf({ 'content-encoding': 'x-gzip' })]).toEqual([
    'gzip',
    'gzip',
  ]);
});
