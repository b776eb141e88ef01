import { expect, test } from 'vitest';
import { createSignInSeal, SIGN_IN_MS, type SignIn } from '../../src/console/sealed-sign-in.ts';
import { encryptText, newEncryptionKey } from '../../src/platform/encryption.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const SIGN_IN: SignIn = {
  state: 's',
  nonce: 'n',
  code_verifier: 'v',
  return_to: '/console/players',
  began_at_ms: NOW_MS,
};
const PROVIDER = { issuer: 'https://id.example', client_id: 'console' };
const keys = { current: newEncryptionKey(), previous: undefined };
const seal = createSignInSeal(keys, PROVIDER);

test('a sealed sign-in is read by every process with the same keys, for ten minutes', () => {
  const sealed = seal.seal(SIGN_IN);
  const elsewhere = createSignInSeal({ ...keys }, PROVIDER);
  expect(elsewhere.open(sealed, NOW_MS)).toEqual(SIGN_IN);
  expect(elsewhere.open(sealed, NOW_MS + SIGN_IN_MS - 1)).toEqual(SIGN_IN);
  expect(elsewhere.open(sealed, NOW_MS + SIGN_IN_MS)).toBeUndefined();
  // Clocks of processes differ a little; from one that was set back by more nothing can be told.
  expect(elsewhere.open(sealed, NOW_MS - 60_000)).toEqual(SIGN_IN);
  expect(elsewhere.open(sealed, NOW_MS - 60_001)).toBeUndefined();
});

test('while the key is rotated, sign-ins that began before can be ended', () => {
  const next = newEncryptionKey();
  const rotated = createSignInSeal({ current: next, previous: keys.current }, PROVIDER);
  expect(rotated.open(seal.seal(SIGN_IN), NOW_MS)).toEqual(SIGN_IN);
  const after = createSignInSeal({ current: next, previous: undefined }, PROVIDER);
  expect(after.open(seal.seal(SIGN_IN), NOW_MS)).toBeUndefined();
});

test('nothing of it can be read, and no two are the same', () => {
  const sealed = seal.seal(SIGN_IN);
  expect(sealed).toMatch(/^[\w-]+$/);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toMatch(/players|state|nonce/);
  expect(seal.seal(SIGN_IN)).not.toBe(sealed);
});

test.each([
  [
    'of another installation',
    () => createSignInSeal({ current: newEncryptionKey(), previous: undefined }, PROVIDER).seal(SIGN_IN),
  ],
  [
    'for another provider',
    () => createSignInSeal(keys, { ...PROVIDER, issuer: 'https://other.example' }).seal(SIGN_IN),
  ],
  ['for another client', () => createSignInSeal(keys, { ...PROVIDER, client_id: 'other' }).seal(SIGN_IN)],
  // The same installation encrypts other things with the key from which this one is derived.
  [
    'encrypted with the credentials key itself',
    () => encryptText(keys, 'console sign-in', JSON.stringify(SIGN_IN)).toString('base64url'),
  ],
  ['that was cut', () => seal.seal(SIGN_IN).slice(0, -4)],
  ['that is empty', () => ''],
  ['that is no sign-in', () => 'AAAA'],
  ['that is too long', () => 'A'.repeat(100_000)],
])('refuses a cookie %s', (_what, make) => {
  expect(seal.open(make(), NOW_MS)).toBeUndefined();
});

test('refuses a cookie of which any byte was changed', () => {
  const bytes = Buffer.from(seal.seal(SIGN_IN), 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(seal.open(changed.toString('base64url'), NOW_MS)).toBeUndefined();
  }
});
