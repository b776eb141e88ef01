import { expect, it } from 'vitest';
import { timestampWithOffset } from '../../src/http/field-schemas.ts';

it.each([
  // Java's OffsetDateTime leaves out seconds that are 0.
  ['2026-12-24T20:00+01:00', '2026-12-24T19:00:00.000Z'],
  ['2026-12-24T20:00Z', '2026-12-24T20:00:00.000Z'],
  ['2026-12-24T20:00:00.123456789-05:30', '2026-12-25T01:30:00.123Z'],
  ['2026-12-24T20:00:00,5Z', '2026-12-24T20:00:00.500Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
])('%s is a time', (text, read) => {
  expect(timestampWithOffset.parse(text)).toBe(read);
});

it.each([
  '2026-12-24T20:00',
  '2026-12-24',
  '2026-02-30T20:00Z',
  '2026-12-24T24:00Z',
  '0001-01-01T00:00+01:00',
  '0000-12-31T00:00Z',
  '1798142400',
  '',
])('%j is none, and is quoted', (text) => {
  const { success, error } = timestampWithOffset.safeParse(text);
  expect(success).toBe(false);
  expect(error?.issues[0]?.message).toContain(`is ${JSON.stringify(text)}`);
});
