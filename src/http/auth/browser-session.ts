import { ApiError } from '../../errors.ts';
import { andThen, type Maybe } from './maybe.ts';

/** `__Host-`: browsers take it only from this very host, by HTTPS (or on loopback), for the whole host. */
export const SESSION_COOKIE = '__Host-session';

const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

/** Sessions that browsers hold in a cookie. */
export interface BrowserSessions {
  /** The user of the session with this id; undefined when it has ended. Without a promise when it is cached. */
  userOf(id: string): Maybe<string | undefined>;
}

/** The parts of a request that decide whether its cookie counts, and its id. */
export interface BrowserRequest {
  id: string;
  method: string;
  headers: {
    readonly authorization?: string | undefined;
    readonly cookie?: string | undefined;
    readonly 'sec-fetch-site'?: string | string[] | undefined;
    readonly 'x-console'?: string | string[] | undefined;
  };
}

/**
 * The user of the session in the request's cookie; undefined when it has no such cookie. The cookie counts only in
 * requests of the service's own pages: a page of another origin cannot send `Sec-Fetch-Site: same-origin`, and cannot
 * set X-Console, which writes need, without asking first. Throws or rejects with UNAUTHORIZED (the session has ended),
 * FORBIDDEN (from another page).
 */
export function browserUser(sessions: BrowserSessions, request: BrowserRequest): Maybe<string> | undefined {
  const id = sessionId(request.headers.cookie);
  if (id === undefined) return undefined;
  requireOwnPage(request);
  return andThen(sessions.userOf(id), (user_id) => {
    if (user_id === undefined) throw new ApiError('UNAUTHORIZED', 'the session has ended: sign in again');
    return user_id;
  });
}

/** Throws FORBIDDEN unless one of the service's own pages sent the request. */
export function requireOwnPage({ method, headers }: BrowserRequest): void {
  if (headers['sec-fetch-site'] !== 'same-origin') {
    throw new ApiError('FORBIDDEN', "a session cookie counts only in requests of the console's own pages");
  }
  if (method !== 'GET' && headers['x-console'] !== '1') {
    throw new ApiError('FORBIDDEN', 'a change with a session cookie needs the header X-Console: 1');
  }
}

/** The id in the session cookie of a Cookie header; undefined when there is none, or several, or it is not an id. */
export function sessionId(header: string | undefined): string | undefined {
  const id = cookieOf(header, SESSION_COOKIE);
  return id !== undefined && SESSION_ID.test(id) ? id : undefined;
}

/** The cookie of this name in a Cookie header; undefined when there is none, or several: then none can be trusted. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const [value, second] = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return second === undefined ? value : undefined;
}
