import { SESSION_COOKIE } from '../http/auth/browser-session.ts';
import { SIGN_IN_MS } from './sealed-sign-in.ts';

/** Holds the sealed sign-in between its beginning and its end. */
export const SIGN_IN_COOKIE = '__Host-sign-in';

/** HttpOnly: no script reads it. Lax: links from elsewhere, and the identity provider, open the console with it. */
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/**
 * The Set-Cookie header that gives a browser its session. Requests from elsewhere do not count although they carry it (see
 * browser-session.ts). Without Max-Age it ends with the browser; the service ends it earlier.
 */
export function sessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; ${ATTRIBUTES}`;
}

/** The Set-Cookie header that removes the session from the browser. */
export function expiredSessionCookie(): string {
  return `${SESSION_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
}

/** The Set-Cookie header that gives a browser the sign-in that it has begun. */
export function signInCookie(sealed: string): string {
  return `${SIGN_IN_COOKIE}=${sealed}; ${ATTRIBUTES}; Max-Age=${SIGN_IN_MS / 1000}`;
}

/** The Set-Cookie header that removes the sign-in from the browser. */
export function expiredSignInCookie(): string {
  return `${SIGN_IN_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
}
