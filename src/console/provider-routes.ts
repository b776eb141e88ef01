import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cookieOf, sessionId } from '../http/auth/browser-session.ts';
import type { ConsoleSessions } from '../http/auth/console-sessions.ts';
import { ApiError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Db } from '../platform/postgres/port.ts';
import { expiredSignInCookie, sessionCookie, SIGN_IN_COOKIE, signInCookie } from './cookies.ts';
import { answerFailure } from './failure-page.ts';
import { setConsoleHeaders } from './headers.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { LOGOUT_TOKEN_MS, LogoutRefused, verifyLogoutToken, type Logout } from './logout-token.ts';
import { SIGN_IN_MS, type SignIn, type SignInSeal } from './sealed-sign-in.ts';
import { SignInFailed, type FailureReason } from './sign-in-failed.ts';
import { useOnce } from './used-once-queries.ts';
import { networkOf } from '../http/auth/unknown-keys.ts';
import type { RateLimiter, RatePolicy } from '../platform/rate-limit/port.ts';

/** Codes of providers are shorter; a longer answer is not passed on. */
const MAX_QUERY_LENGTH = 8_192;
const MAX_LOGOUT_BYTES = 16 * 1024;
const FORM = 'application/x-www-form-urlencoded';

interface Deps {
  provider: IdentityProvider;
  seal: SignInSeal;
  console_sessions: ConsoleSessions;
  takePermit: TakePermit;
  /** The service role. */
  sql: Db;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  https: boolean;
  /** The console by its public address. */
  home_url: string;
}

/** How users sign in by the identity provider, and how it ends their sessions. */
export function providerRoutes(app: FastifyInstance, deps: Deps): void {
  app.get('/console/auth/login', (request, reply) =>
    orPage(deps, request, reply, () => login(deps, request, reply)),
  );
  app.get('/console/auth/callback', (request, reply) => {
    // Also after a failure: a sign-in has one attempt to be completed.
    void reply.header('set-cookie', expiredSignInCookie());
    return orPage(deps, request, reply, () => callback(deps, request, reply));
  });
  const options = { bodyLimit: MAX_LOGOUT_BYTES, config: { raw_types: [FORM] } };
  app.post('/console/auth/backchannel-logout', options, (request, reply) => logout(deps, request, reply));
}

async function login({ provider, seal, https }: Deps, request: FastifyRequest, reply: FastifyReply) {
  const return_to = only(queryOf(request), 'return_to');
  const { sign_in, url } = await provider.begin(returnPath(return_to));
  setConsoleHeaders(reply, { https });
  return reply
    .header('set-cookie', signInCookie(seal.seal(sign_in)))
    .header('cache-control', 'no-store')
    .redirect(url, 302);
}

async function callback(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const { provider, console_sessions, https } = deps;
  const query = queryOf(request);
  const sign_in = await begunHere(deps, request.headers.cookie, query);
  const user = await provider.finish(query, sign_in);
  // The session is always a new one, even if the browser had one: an id that somebody else knows gains nothing.
  const before = sessionId(request.headers.cookie);
  if (before !== undefined) await console_sessions.end(before);
  const id = await console_sessions.begin(user);
  setConsoleHeaders(reply, { https });
  return reply
    .header('set-cookie', sessionCookie(id))
    .header('cache-control', 'no-store')
    .redirect(sign_in.return_to, 303);
}

/** The sign-in that this browser has begun and that the query ends. Rejects with SignInFailed; it can be used once. */
async function begunHere(
  { seal, sql, clock }: Deps,
  cookie: string | undefined,
  query: URLSearchParams,
): Promise<SignIn> {
  const now_ms = clock.now_ms();
  const sign_in = seal.open(cookieOf(cookie, SIGN_IN_COOKIE), now_ms);
  if (sign_in === undefined) throw new SignInFailed('not_begun', 'no usable sign-in cookie');
  if (query.toString().length > MAX_QUERY_LENGTH) throw new SignInFailed('invalid', 'the query is too long');
  // The library checks it again, with what else the answer must have.
  if (only(query, 'state') !== sign_in.state) throw new SignInFailed('not_begun', 'another state');
  const times = { now: new Date(now_ms), expires_at: new Date(now_ms + SIGN_IN_MS) };
  if (await useOnce(sql, `sign-in ${sign_in.state}`, times)) return sign_in;
  throw new SignInFailed('not_begun', 'used before');
}

async function logout(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const { provider, console_sessions, takePermit, clock, logger } = deps;
  await takePermit('logout', request.ip);
  void reply.header('cache-control', 'no-store');
  const form = new URLSearchParams(request.rawBody?.toString('latin1'));
  try {
    const token = only(form, 'logout_token');
    if (token === undefined) throw new LogoutRefused('send one logout_token');
    const said = await verifyLogoutToken(token, await provider.issuerOfLogouts(), clock);
    await requireUnused(deps, said);
    const ended = await console_sessions.endOf(said.ended);
    logger.info({ ended }, 'the identity provider has ended sessions of the console');
    return await reply.code(200).send();
  } catch (error) {
    if (error instanceof SignInFailed) {
      const message = 'the identity provider does not answer';
      throw new ApiError('SERVICE_UNAVAILABLE', message, { cause: error, retry_after_s: 5 });
    }
    if (!(error instanceof LogoutRefused)) throw error;
    logger.warn({ err: error, request_id: request.id }, 'a logout token was refused');
    // The shape of the standard, because its reader is a provider.
    return reply.code(400).send({ error: 'invalid_request', error_description: error.message });
  }
}

/** A token that was sent again would end the sessions that the user has begun since. */
async function requireUnused({ sql, clock }: Deps, { jti }: Logout): Promise<void> {
  const now_ms = clock.now_ms();
  const times = { now: new Date(now_ms), expires_at: new Date(now_ms + 3 * LOGOUT_TOKEN_MS) };
  if (!(await useOnce(sql, `logout ${jti}`, times))) throw new LogoutRefused('the token was used before');
}

/** The answer, or a page that says why there is none. What went wrong is for the log. */
async function orPage(
  { takePermit, logger, https, home_url }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const page = (reason: FailureReason) =>
    answerFailure(reply, reason, { https, home_url, request_id: request.id });
  try {
    await takePermit('sign_in', request.ip);
    return await answer();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RATE_LIMITED') return page('busy');
    if (!(error instanceof SignInFailed)) throw error;
    const { reason, detail } = error;
    const fields = { reason, detail, request_id: request.id };
    if (reason === 'invalid' || reason === 'unavailable')
      logger.warn(fields, 'a sign-in to the console failed');
    else logger.info(fields, 'a sign-in to the console was refused');
    return page(reason);
  }
}

function queryOf(request: FastifyRequest): URLSearchParams {
  const [, ...query] = request.url.split('?');
  return new URLSearchParams(query.join('?'));
}

/** The value of a parameter; undefined when there is none, or several: then none can be trusted. */
function only(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name);
  return second === undefined ? value : undefined;
}

const HOME = '/console/';
const MAX_LENGTH = 1_000;
/** Stands for this host while a path is resolved; reserved, so that no other URL has it. */
const HERE = 'http://console.invalid';

/**
 * Where a sign-in leads: the given path in one spelling if it is a page of the console, else the console's first page. So
 * no link of ours sends users to another host or path, however it is written.
 */
export function returnPath(given: string | undefined): string {
  if (given === undefined || given.length > MAX_LENGTH) return HOME;
  // Browsers read a backslash as a slash, and drop tabs and line ends.
  if (!given.startsWith(HOME) || !/^[!-~]+$/.test(given) || given.includes('\\')) return HOME;
  const url = URL.canParse(given, HERE) ? new URL(given, HERE) : undefined;
  if (url === undefined || url.origin !== HERE) return HOME;
  const { pathname, search, hash } = url;
  const is_page = pathname.startsWith(HOME) && !pathname.startsWith(`${HOME}auth/`);
  // A proxy may decode the path once more.
  return is_page && !/%(2f|5c|2e|25)/i.test(pathname) ? `${pathname}${search}${hash}` : HOME;
}

/** For one network: an office whose people all begin work at once stays below it. */
const SIGN_INS: RatePolicy = { name: 'console sign-in', per_second: 10, burst: 200 };
/** A provider that ends the sessions of many users sends them one by one. */
const LOGOUTS: RatePolicy = { name: 'console logout', per_second: 50, burst: 500 };

/** Takes a permit of the address for a request of somebody unknown; `sign_in` or a provider's `logout`. */
type TakePermit = (kind: 'sign_in' | 'logout', address: string) => Promise<void>;

/** Limits of the routes that anybody may call. The check rejects with RATE_LIMITED. */
export function signInRates(rate_limiter: RateLimiter): TakePermit {
  return async (kind, address) => {
    const policy = kind === 'sign_in' ? SIGN_INS : LOGOUTS;
    const { allowed, retry_after_ms } = await rate_limiter.takeInWindow(policy, networkOf(address));
    if (allowed) return;
    throw new ApiError('RATE_LIMITED', 'too many requests: try again later', {
      retry_after_s: Math.ceil(retry_after_ms / 1000),
    });
  };
}
