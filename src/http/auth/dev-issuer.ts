import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SignJWT, createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Clock } from '../../platform/clock.ts';
import { readOrCreateSecret } from './secret-file.ts';
import type { TrustedIssuer } from './token-verifier.ts';

const FILE = 'dev-issuer-key.json';
const ISSUER = 'engagement-development';
const AUDIENCE = 'engagement';
const ALGORITHM = 'ES256';
const SESSION_S = 30 * 24 * 3600;

/** How long a token of {@link DevIssuer.issueSignIn} may be used. */
export const SIGN_IN_MS = 24 * 3_600_000;
const SIGN_IN_BYTES = 32;
/** So many tokens of sign-ins wait for their use; the oldest make room. */
const MAX_SIGN_INS = 100;

/** Signs sessions for a service without an identity provider. */
export interface DevIssuer {
  /** Issuer, audience and key for the verification of its tokens. */
  trusted: TrustedIssuer;
  /** Returns a session token of the user, valid for 30 days. */
  issueSession(user_id: string): Promise<string>;
  /** Returns a token for one sign-in to the console as the user, valid for a day and until the process ends. */
  issueSignIn(user_id: string): string;
  /** The user of a token of {@link issueSignIn}, which is used up; undefined for every other text. */
  takeSignIn(token: string): string | undefined;
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
    ...signIns(clock),
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

/** The tokens are in memory only: the engines are embedded, so this process is the whole service. */
function signIns(clock: Clock): Pick<DevIssuer, 'issueSignIn' | 'takeSignIn'> {
  const waiting = new Map<string, { user_id: string; expires_at_ms: number }>();
  return {
    issueSignIn(user_id) {
      const [oldest] = waiting.keys();
      if (waiting.size >= MAX_SIGN_INS && oldest !== undefined) waiting.delete(oldest);
      const token = randomBytes(SIGN_IN_BYTES).toString('base64url');
      waiting.set(token, { user_id, expires_at_ms: clock.now_ms() + SIGN_IN_MS });
      return token;
    },
    takeSignIn(token) {
      const found = waiting.get(token);
      waiting.delete(token);
      return found !== undefined && clock.now_ms() < found.expires_at_ms ? found.user_id : undefined;
    },
  };
}

async function makeKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return JSON.stringify({ ...(await exportJWK(privateKey)), kid: 'dev' });
}
