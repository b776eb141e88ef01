import { join } from 'node:path';
import { SignJWT, createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Config } from '../config.ts';
import { isLoopback } from '../platform/egress/addresses.ts';
import type { Clock } from '../platform/clock.ts';
import { readOrCreateSecret } from './secret-file.ts';
import type { TrustedIssuer } from './token-verifier.ts';

const FILE = 'dev-issuer-key.json';
const ISSUER = 'engagement-development';
const AUDIENCE = 'engagement';
const ALGORITHM = 'ES256';
const SESSION_S = 30 * 24 * 3600;

/** Signs session tokens for a service without an identity provider. */
export interface DevIssuer {
  /** Issuer, audience and key for the verification of its tokens. */
  trusted: TrustedIssuer;
  /** Returns a session token of the user, valid for 30 days. */
  issueSession(user_id: string): Promise<string>;
}

/** Whether the service may sign its own sessions: only without an identity provider and on a loopback address. */
export function mayIssueSessions(config: Config): boolean {
  const hosts = [config.host, config.ops?.host ?? config.host];
  return config.identity_provider === undefined && hosts.every(isLoopback);
}

/** Opens the development issuer. Its key is created on first use and kept in DATA_DIR. */
export async function openDevIssuer(data_dir: string, clock: Clock): Promise<DevIssuer> {
  const jwk = JSON.parse(await readOrCreateSecret(join(data_dir, FILE), makeKey)) as JWK;
  const key = await importJWK(jwk, ALGORITHM);
  const { d: _private, ...public_jwk } = jwk;
  const kid = jwk.kid ?? 'dev';
  const local = createLocalJWKSet({ keys: [{ ...public_jwk, kid, alg: ALGORITHM }] });
  return {
    trusted: {
      issuer: ISSUER,
      audience: AUDIENCE,
      keys: async (...wanted) => ({ key: await local(...wanted) }),
    },
    issueSession(user_id) {
      const now_s = Math.floor(clock.now_ms() / 1000);
      return new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(user_id)
        .setIssuedAt(now_s)
        .setExpirationTime(now_s + SESSION_S)
        .sign(key);
    },
  };
}

async function makeKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return JSON.stringify({ ...(await exportJWK(privateKey)), kid: 'dev' });
}
