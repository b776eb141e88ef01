import { validate, version } from 'uuid';
import { expect, it } from 'vitest';
import { sentIdOf } from '../../src/ingest/intake/sent-id.ts';

const KEY = '0198f3a0-0000-7000-8000-000000000001';

it('is a UUIDv8 that depends on the key and on the name alone', () => {
  const id = sentIdOf(KEY, 'ajs-next-1');
  expect(validate(id)).toBe(true);
  expect(version(id)).toBe(8);
  expect(sentIdOf(KEY, 'ajs-next-1')).toBe(id);
  expect(sentIdOf(KEY, 'ajs-next-2')).not.toBe(id);
  expect(sentIdOf('0198f3a0-0000-7000-8000-000000000002', 'ajs-next-1')).not.toBe(id);
});
