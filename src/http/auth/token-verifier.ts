import { errors, jwtVerify } from 'jose';
import type { Config } from '../../config.ts';
import { ApiError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import { RemoteKeys, type GetKey } from './remote-keys.ts';

/** Only asymmetric algorithms: if a shared-secret algorithm were allowed, a token could be signed with a public key. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const CLOCK_TOLERANCE_S = 5;
const MAX_TOKEN_LENGTH = 8_192;
const MAX_SUBJECT_LENGTH = 255;

/** The issuer whose tokens are accepted. */
export interface TrustedIssuer {
  issuer: string;
  audience: string;
  keys: GetKey;
}

/** The content of a valid token; times are in milliseconds since the epoch. */
export interface VerifiedToken {
  user_id: string;
  expires_at_ms: number;
  /** When the token must be checked again; absent: not before it expires. */
  recheck_at_ms?: number;
}

/** Checks one session token; see {@link createTokenVerifier}. */
export type VerifyToken = (token: string) => Promise<VerifiedToken>;

/** The issuer behind AUTH_JWKS_URL. */
export function remoteIssuer(
  provider: NonNullable<Config['identity_provider']>,
  clock: Clock,
): TrustedIssuer {
  const keys = new RemoteKeys(new URL(provider.jwks_url), clock);
  return { issuer: provider.issuer, audience: provider.audience, keys: keys.get };
}

/**
 * Creates the check of session tokens: signature, issuer, audience, expiry, subject. It rejects with UNAUTHORIZED, or
 * with SERVICE_UNAVAILABLE while the provider's keys cannot be fetched.
 */
export function createTokenVerifier(trusted: TrustedIssuer, clock: Clock): VerifyToken {
  const { issuer, audience } = trusted;
  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) throw refused('the session token is too long');
    const currentDate = new Date(clock.now_ms());
    const options = { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp', 'sub'] };
    const getKey = keysOrUnavailable(trusted.keys);
    let recheck_at_ms: number | undefined;
    try {
      const { payload } = await jwtVerify(
        token,
        async (...wanted) => {
          const found = await getKey(...wanted);
          recheck_at_ms = found.recheck_at_ms;
          return found.key;
        },
        { ...options, currentDate, clockTolerance: CLOCK_TOLERANCE_S },
      );
      const expires_at_ms = (payload.exp ?? 0) * 1000;
      // The tolerance is for `nbf` from a provider whose clock is ahead; it must not extend a session.
      if (expires_at_ms <= currentDate.getTime()) throw refused('the session has expired');
      const { sub } = payload;
      if (!isUserId(sub)) throw refused('the session token names no user');
      return { user_id: sub, expires_at_ms, ...(recheck_at_ms === undefined ? {} : { recheck_at_ms }) };
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      if (cause instanceof errors.JWTExpired) throw refused('the session has expired', cause);
      throw refused('the session token is not valid', cause);
    }
  };
}

/** Whether the `sub` of a token can be the id of a user. */
export function isUserId(sub: unknown): sub is string {
  return typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUBJECT_LENGTH && !sub.includes('\0');
}

/**
 * Distinguishes "the key does not exist" (the token is invalid) from "the keys cannot be fetched" (the service cannot
 * decide): the latter rejects with SERVICE_UNAVAILABLE.
 */
export function keysOrUnavailable(keys: GetKey): GetKey {
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      const answered =
        cause instanceof errors.JWKSNoMatchingKey ||
        cause instanceof errors.JWKSMultipleMatchingKeys ||
        cause instanceof errors.JOSENotSupported;
      if (answered) throw cause;
      const message = 'the identity provider does not answer';
      throw new ApiError('SERVICE_UNAVAILABLE', message, { cause, retry_after_s: 5 });
    }
  };
}

function refused(message: string, cause?: unknown): ApiError {
  return new ApiError('UNAUTHORIZED', message, { cause });
}
