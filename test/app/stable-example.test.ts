import { expect, it } from 'vitest';
import { generateApiKey } from '../../src/http/auth/api-key.ts';
import { StableExamples } from './stable-example.ts';

it('an example shows a whole key as a key, and a prefix as a prefix', () => {
  const { key, prefix } = generateApiKey('dev');
  // A secret may have any characters of base64url.
  const other = `${prefix}_${'-_aZ'.repeat(11)}`;
  const shown = new StableExamples([], 0).of({ key, prefix, other });
  const whole = `svc_pk_dev_0a1b2c3d_${'4e5f'.repeat(11)}`;
  expect(shown).toEqual({ key: whole, prefix: 'svc_pk_dev_0a1b2c3d', other: whole });
});

it('a long map of the same fields shows its first entry, and a short one all', () => {
  const map = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_none, i) => [`key_${i}`, { label: 'l', values: ['a', 'b'] }]),
    );
  const examples = new StableExamples([], 0);
  expect(examples.of({ map: map(12) })).toEqual({ map: { key_0: { label: 'l', values: ['a'] } } });
  expect(Object.keys(examples.of(map(3)))).toHaveLength(3);
  const fields = Object.fromEntries(Object.keys(map(12)).map((name, i) => [name, { [`field_${i}`]: 'a' }]));
  expect(examples.of(fields)).toEqual(fields);
});
