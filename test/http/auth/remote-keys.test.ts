import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createTokenVerifier,
  remoteIssuer,
  type TrustedIssuer,
} from '../../../src/http/auth/token-verifier.ts';
import {
  AUDIENCE,
  ISSUER,
  newKey,
  signedBy,
  startIdentityProvider,
  type IdentityProvider,
  type SigningKey,
} from './identity-provider.ts';

let provider: IdentityProvider;
let lasting: SigningKey;
let withdrawn: SigningKey;
let now_ms: number;
const clock = { now_ms: () => now_ms };

beforeAll(async () => {
  [lasting, withdrawn] = [await newKey('lasting'), await newKey('withdrawn')];
  provider = await startIdentityProvider([]);
});
afterAll(() => provider.close());
beforeEach(() => {
  now_ms = Date.now();
  provider.up = true;
  provider.keys = [lasting.jwk, withdrawn.jwk];
});

const trust = (): TrustedIssuer =>
  remoteIssuer({ jwks_url: `${provider.url}/jwks`, issuer: ISSUER, audience: AUDIENCE }, clock);
const sign = (key: SigningKey) => signedBy(key, 'idp|user', { exp: Math.floor(now_ms / 1000) + 7_200 });
const pass = (seconds: number) => (now_ms += seconds * 1_000);

test('a token is checked again 60 s after the fetch of the set that its key is from', async () => {
  const trusted = trust();
  const verify = createTokenVerifier(trusted, clock);
  const token = await sign(withdrawn);
  const fetched_at_ms = now_ms;
  expect((await verify(token)).recheck_at_ms).toBe(fetched_at_ms + 60_000);
  provider.keys = [lasting.jwk];
  pass(50);
  // The refresh that this check begins in the background ends before the signature is checked.
  const slow = createTokenVerifier(
    {
      ...trusted,
      keys: async (header, input) => {
        const found = await trusted.keys(header, input);
        const isPublished = () =>
          Promise.resolve(trusted.keys(header, input)).then(
            () => true,
            () => false,
          );
        await expect.poll(isPublished).toBe(false);
        return found;
      },
    },
    clock,
  );
  expect((await slow(token)).recheck_at_ms).toBe(fetched_at_ms + 60_000);
});

test('after one failed refresh a withdrawn key is still refused after 60 s', async () => {
  const verify = createTokenVerifier(trust(), clock);
  const token = await sign(withdrawn);
  await verify(token);
  const before = provider.fetches;
  provider.up = false;
  pass(40);
  await verify(token);
  await expect.poll(() => provider.fetches).toBe(before + 1);
  // The failure is known before the provider answers again.
  await expect(verify(await sign({ ...lasting, kid: 'unheard of' }))).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
  provider.up = true;
  provider.keys = [lasting.jwk];
  pass(50);
  await expect(verify(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});

test('without usable keys at most one fetch is made every 5 s; other requests are refused at once', async () => {
  const verify = createTokenVerifier(trust(), clock);
  const token = await sign(lasting);
  provider.up = false;
  const before = provider.fetches;
  const refuse = () => expect(verify(token)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  for (let i = 0; i < 5; i++) await refuse();
  expect(provider.fetches - before).toBe(1);
  pass(6);
  await refuse();
  expect(provider.fetches - before).toBe(2);
  provider.up = true;
  pass(6);
  expect((await verify(token)).user_id).toBe('idp|user');
});
