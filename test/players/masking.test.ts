import { assert, constantFrom, json, oneof, property, record, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskPersonal, maskText } from '../../src/players/masking.ts';
import { formatMasked } from '../../console/src/format/value.ts';
import { runs } from '../engines/effort.ts';

const masked = (value: unknown) => JSON.parse(maskPersonal(JSON.stringify(value))) as unknown;

describe('in any text', () => {
  it.each([
    ['ask jane@example.com', 'ask j•••@example.com'],
    ['jane@example.com,carol@example.org', 'j•••@example.com,c•••@example.org'],
    ['<jane@example.com>', '<j•••@example.com>'],
    ['mailto:jane@example.com?subject=x', 'm•••@example.com?subject=x'],
    ['"jane doe"@example.com', '"•••@example.com'],
    ['jäne@exämple.com', 'j•••@exämple.com'],
    ['😀@example.com', '😀•••@example.com'],
    ['call +356 9912 3456 now', 'call +•••56 now'],
    ['+35699123456', '+•••56'],
    ['+1 (555) 010-9999/+44 20 7946 0018', '+•••99/+•••18'],
    ['tel:+35699123456', 'tel:+•••56'],
    ['joe@x.io+35699123456', 'j•••@x.io+•••56'],
    ['joe@x.io2+3569912', 'j•••@x.io2+•••12'],
    ['call+35699123456', 'call+•••56'],
    ['＋35699123456', '＋•••56'],
    ['＋３５６９９１２３４５６', '＋•••５６'],
    ['0035699123456', '0•••56'],
    ['tel:0035699123456, 00 356 9912 3456', 'tel:0•••56, 0•••56'],
    ['a@b.example,0035699123456', 'a•••@b.example,0•••56'],
  ])('%j becomes %j', (text, shown) => {
    expect(masked({ any: text })).toEqual({ any: shown });
    expect(masked([text, { deep: [text] }])).toEqual([shown, { deep: [shown] }]);
  });

  it.each([
    '@',
    'a @ b',
    '@example.com',
    'jane@localhost',
    '2026-01-01T00:00:00+02:00',
    'a+1234567',
    '+49 (0)',
    '+0123456789',
    '1e+21',
    '1e+210',
    'a+12345678',
    '00356991',
    '000356991234',
    '100356991234',
    '0.00356991234',
    '4e5f0a52-5a0d-4b7e-9d3a-001234567890',
    'A00356991234',
    '12:00:12.123456',
    'Grand Hotel, 12 rooms',
    '',
  ])('%j stays', (text) => {
    expect(masked({ any: text })).toEqual({ any: text });
  });

  it('an address written with escapes, or as a name, is one', () => {
    expect(maskPersonal('{"a":"jane\\u0040example.com"}')).toBe('{"a":"j•••@example.com"}');
    expect(maskPersonal('{"jane@example.com":1}')).toBe('{"j•••@example.com":1}');
    expect(maskPersonal('{"\\u0065mail":"jane"}')).toBe('{"\\u0065mail":"j•••"}');
  });
});

describe('under a personal name', () => {
  it.each([
    'email',
    'userEmail',
    'e-mail',
    'phone_number',
    'PHONE',
    'msisdn',
    'tel',
    'Tel',
    'homeTel',
    'tel_no',
    'TELEFON',
  ])('%s: texts and numbers', (name) => {
    expect(masked({ [name]: 'jane' })).toEqual({ [name]: 'j•••' });
    expect(masked({ [name]: [{ value: 35_699_123_456 }, ['99123456'], true, null] })).toEqual({
      [name]: [{ value: '3•••56' }, ['9•••56'], true, null],
    });
    expect(masked({ in: { [name]: 'jane' }, after: 'jane' })).toEqual({
      in: { [name]: 'j•••' },
      after: 'jane',
    });
  });

  it.each(['hotel', 'telegram_channel', 'HOTEL', 'title', 'motel2'])('%s is none', (name) => {
    expect(masked({ [name]: 'jane' })).toEqual({ [name]: 'jane' });
  });

  it('nothing of a contact but its beginning and its domain or its last two digits is left', () => {
    expect(maskText('jane@example.com, call 99123456')).toBe('j•••@example.com');
    expect(maskText('j')).toBe('j•••');
    expect(maskText('')).toBe('•••');
  });
});

describe('all else', () => {
  it('stays as it is written, numbers to the last digit', () => {
    const json = '{"n":25000000000000000000,"f":1.10,"e":1E+400, "t" : "\\u00e9","tel":"99123456"}';
    expect(maskPersonal(json)).toBe(json.replace('"99123456"', '"9•••56"'));
  });

  it('any JSON stays JSON, and keeps its shape', () => {
    const contact = constantFrom('a@b.example', '+356 99123456', '@', '+', '\\', '"', 'é', '\ud800');
    const text = oneof(
      string(),
      tuple(string(), contact, string()).map((parts) => parts.join('')),
    );
    const value = record({
      email: text,
      tel: json(),
      [`x`]: text,
      json: json().map((one) => JSON.parse(one) as unknown),
    });
    assert(
      property(value, (one) => {
        const shown = masked(one) as typeof one;
        expect(Object.keys(shown)).toEqual(Object.keys(one));
        expect(maskPersonal(JSON.stringify(shown))).toContain('{');
      }),
      { numRuns: runs(500) },
    );
  });

  it('of more contacts than are masked one by one nothing is shown', () => {
    expect(masked(Array.from({ length: 3_000 }, () => 'jane@example.com'))).toEqual({ '•••': '•••' });
    expect(masked({ a: 'jane@example.com '.repeat(3_000) })).toEqual({ '•••': '•••' });
    expect(masked({ tel: Array.from({ length: 3_000 }, (_, i) => i) })).toEqual({ '•••': '•••' });
  });

  it('the console shows the same', () => {
    expect(formatMasked({ tel: '99123456', n: 25000000000000000000n, note: 'ask jane@example.com' })).toBe(
      '{"tel":"9•••56","n":25000000000000000000,"note":"ask j•••@example.com"}',
    );
  });
});
