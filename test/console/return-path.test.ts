import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { returnPath } from '../../src/console/provider-routes.ts';
import { runs } from '../engines/effort.ts';

test.each([
  ['/console/', '/console/'],
  ['/console/players/0190?tab=money&q=%C3%A9#top', '/console/players/0190?tab=money&q=%C3%A9#top'],
  ['/console/a/../players', '/console/players'],
  ['/console/players?next=https://evil.example/', '/console/players?next=https://evil.example/'],
])('keeps the page %s', (given, expected) => {
  expect(returnPath(given)).toBe(expected);
});

test.each([
  ['another host', 'https://evil.example/console/'],
  ['another host without a scheme', '//evil.example/console/'],
  ['three slashes', '///evil.example'],
  ['backslashes', '\\\\evil.example'],
  ['a slash and a backslash', '/\\evil.example'],
  ['a backslash after the console', '/console/\\evil.example'],
  ['a script', 'javascript:alert(1)'],
  ['a path above the console', '/console/../v1/players'],
  ['an encoded path above', '/console/%2e%2e/v1/players'],
  ['half of the dots encoded', '/console/.%2E/v1'],
  ['a path above, encoded twice', '/console/%252e%252e/v1'],
  ['an encoded slash', '/console/..%2fv1'],
  ['an encoded backslash', '/console/..%5cv1'],
  ['a path that only begins like the console', '/console.evil.example/'],
  ['the console without its slash and an @', '/console@evil.example'],
  ['a tab, which browsers drop', '/\t/evil.example'],
  ['a line end, which ends a header', '/console/\r\nset-cookie: a=b'],
  ['a space before', ' /console/'],
  ['the sign-in itself', '/console/auth/login'],
  ['the sign-in by another way', '/console/x/../auth/logout'],
  ['letters that are not ASCII', '/console/\u3002\u3002'],
  ['NUL', '/console/\0'],
  ['too long a path', `/console/${'a'.repeat(1_000)}`],
  ['nothing', ''],
  ['no parameter', undefined],
])('refuses %s', (_what, given) => {
  expect(returnPath(given)).toBe('/console/');
});

test('whatever is given, a browser stays at this host and in the console', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '//',
    'console',
    'auth',
    '@',
    ':',
    '?',
    '#',
    'x',
    '\t',
    'evil.example',
    'https:',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  );
  const whole = fc.oneof(
    text,
    text.map((rest) => `/console/${rest}`),
  );
  fc.assert(
    fc.property(whole, (given) => {
      const { origin, pathname } = new URL(returnPath(given), 'https://engage.example');
      expect(origin).toBe('https://engage.example');
      expect(pathname.startsWith('/console/')).toBe(true);
      expect(pathname.startsWith('/console/auth/')).toBe(false);
      // A second reading, as by the page's router, changes nothing.
      expect(returnPath(returnPath(given))).toBe(returnPath(given));
    }),
    { numRuns: runs(2_000) },
  );
});
