import { describe, expect, it } from 'vitest';
import { hash32Of } from '../../src/platform/ids.ts';

describe('a hash of 32 bits', () => {
  it.each([
    ['', 0x81_1c_9d_c5],
    ['a', 0xe4_0c_29_2c],
    ['foobar', 0xbf_9c_f9_68],
  ])('of %j is that of FNV-1a, as a signed integer', (text, expected) => {
    expect(hash32Of(text)).toBe(expected | 0);
  });

  it('goes on after another text', () => {
    expect(hash32Of('bar', hash32Of('foo'))).toBe(hash32Of('foobar'));
    expect(hash32Of('game-7')).not.toBe(hash32Of('game-8'));
  });
});
