import { SESSION_COOKIE } from '../auth/browser-session.ts';

/**
 * The Set-Cookie header that gives a browser its session. HttpOnly: no script reads it. Lax: links from elsewhere open
 * the console signed in, while requests from elsewhere do not count (see browser-session.ts). Without Max-Age it ends
 * with the browser; the service ends it earlier.
 */
export function sessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; Path=/; HttpOnly; Secure; SameSite=Lax`;
}

/** The Set-Cookie header that removes the session from the browser. */
export function expiredSessionCookie(): string {
  return `${SESSION_COOKIE}=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0`;
}
