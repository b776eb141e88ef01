import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  SignJWT,
  exportJWK,
  generateKeyPair,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
} from 'jose';
import { vi } from 'vitest';

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'engagement';

/** A key pair, with the public key as a provider publishes it. */
export interface SigningKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: JWK;
}

/** An identity provider's key endpoint on a socket. */
export interface IdentityProvider {
  /** The keys that it publishes. */
  keys: JWK[];
  /** Whether it answers requests. */
  up: boolean;
  /** The body that it answers instead of the keys, when set. */
  garbage: string | undefined;
  /** The number of requests so far, and the paths that were requested. */
  fetches: number;
  paths: Set<string>;
  url: string;
  /** Environment variables of a service that trusts this provider. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

export async function newKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export async function startIdentityProvider(keys: JWK[]): Promise<IdentityProvider> {
  const server = createServer((request, response) => {
    provider.fetches++;
    provider.paths.add(request.url ?? '');
    if (!provider.up) return response.writeHead(503).end();
    const text = provider.garbage ?? JSON.stringify({ keys: provider.keys });
    return response.setHeader('content-type', 'application/json').end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: IdentityProvider = {
    keys,
    up: true,
    garbage: undefined,
    fetches: 0,
    paths: new Set(),
    url,
    environment: { AUTH_JWKS_URL: `${url}/jwks`, AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return provider;
}

/** Builds an unsigned token of the user that is valid for ten minutes; claims given as undefined are left out. */
export function tokenOf(sub: string, claims: Record<string, unknown> = {}): SignJWT {
  const now_s = Math.floor(Date.now() / 1000);
  const all = { iss: ISSUER, aud: AUDIENCE, sub, iat: now_s, exp: now_s + 600, ...claims };
  return new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
}

/** Signs such a token with the key; `header` is merged into a valid header. */
export function signedBy(
  { kid, alg, privateKey }: Omit<SigningKey, 'publicKey' | 'jwk'>,
  sub: string,
  claims: Record<string, unknown> = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  return tokenOf(sub, claims)
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey);
}

/**
 * Moves the current time of this process forward; timers go on as before, and tokens signed earlier stay valid. A test
 * that calls it must end with `vi.useRealTimers()`.
 */
export function passTime(seconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1_000 });
}
