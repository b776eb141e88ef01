import { jwtVerify, type JWTPayload } from 'jose';
import { ALGORITHMS, isUserId, keysOrUnavailable, type TrustedIssuer } from '../http/auth/token-verifier.ts';
import { ApiError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';

/** A logout token counts for so long after it was issued; its id is remembered for longer. */
export const LOGOUT_TOKEN_MS = 5 * 60_000;
const CLOCK_TOLERANCE_S = 60;
const MAX_LENGTH = 8_192;
const MAX_JTI_LENGTH = 255;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Providers of before the final standard write JWT, or nothing. */
const TYPES = new Set(['logout+jwt', 'jwt']);

/** What a logout token says: its id, and the session at the provider that has ended, or the user all of whose have. */
export interface Logout {
  jti: string;
  ended: { provider_sid: string } | { user_id: string };
}

/** The token is not one of the provider for this console, or is not a logout token. */
export class LogoutRefused extends Error {
  override readonly name = 'LogoutRefused';
}

/**
 * Checks a logout token (OpenID Connect Back-Channel Logout 1.0, part 2.6), except that it was not used before. Rejects
 * with {@link LogoutRefused}, or with SERVICE_UNAVAILABLE while the provider's keys cannot be fetched.
 */
export async function verifyLogoutToken(
  token: string,
  trusted: TrustedIssuer,
  clock: Clock,
): Promise<Logout> {
  if (token.length > MAX_LENGTH) throw new LogoutRefused('the logout token is too long');
  const getKey = keysOrUnavailable(trusted.keys);
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async (...wanted) => (await getKey(...wanted)).key,
      {
        issuer: trusted.issuer,
        audience: trusted.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['iat', 'jti', 'events'],
        currentDate: new Date(clock.now_ms()),
        clockTolerance: CLOCK_TOLERANCE_S,
        maxTokenAge: LOGOUT_TOKEN_MS / 1000,
      },
    );
    const { typ } = protectedHeader;
    if (typ !== undefined && !TYPES.has(typ.toLowerCase())) throw new LogoutRefused(`it is a ${typ}`);
    return logoutOf(payload);
  } catch (cause) {
    if (cause instanceof ApiError || cause instanceof LogoutRefused) throw cause;
    throw new LogoutRefused('the logout token is not valid', { cause });
  }
}

function logoutOf({ jti, sid, sub, events, nonce }: JWTPayload): Logout {
  // Only ID tokens have one: none of them may be passed off as a logout token.
  if (nonce !== undefined) throw new LogoutRefused('a logout token has no nonce');
  const event = (events as Record<string, unknown> | null)?.[LOGOUT_EVENT];
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new LogoutRefused('the token is about no logout');
  }
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) {
    throw new LogoutRefused('the token has no usable jti');
  }
  if (sid !== undefined && !isUserId(sid)) throw new LogoutRefused('the token has no usable sid');
  if (sub !== undefined && !isUserId(sub)) throw new LogoutRefused('the token has no usable sub');
  if (isUserId(sid)) return { jti, ended: { provider_sid: sid } };
  if (sub !== undefined) return { jti, ended: { user_id: sub } };
  throw new LogoutRefused('the token names neither a session nor a user');
}
