import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeyPrincipal } from './auth/api-key.ts';
import { ApiError } from '../errors.ts';

/** What pages of other origins may send to a route. */
export interface Cors {
  /** Its methods, as `Access-Control-Allow-Methods` lists them. */
  methods: string;
  /** Request headers, as `Access-Control-Allow-Headers` lists them. */
  headers: string;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Present: pages of other origins may call the route with a client key. */
    cors?: Cors | undefined;
  }
}

/** The headers that every client of ours and of Segment's dialect sends. */
const SENT_HEADERS = 'authorization, content-type, x-retry-count';

/** Of the paths of the dialect. */
export const DIALECT_CORS: Cors = { methods: 'GET, POST', headers: SENT_HEADERS };
/** Of the native endpoints: a page that compresses a body must say so itself. */
export const NATIVE_CORS: Cors = {
  methods: 'POST',
  headers: `${SENT_HEADERS}, content-encoding, idempotency-key`,
};

/** How long a browser remembers a preflight, in seconds: the longest that Chromium does. */
const PREFLIGHT_AGE_S = 7_200;
/** What a page may read of an answer: Date, because clocks of devices are wrong. `X-RateLimit-*` must be spelled out. */
const EXPOSED = 'Date, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';

/**
 * Answers preflights of the routes whose `config` has `cors`, for every origin, because they carry no key. It lets pages
 * read all other answers of these routes, errors too; {@link admitOrigin} keeps those to server keys from them.
 * Install it before all other hooks, so that errors of those have the headers as well.
 */
export function installCors(app: FastifyInstance): void {
  const urls = new Set<string>();
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.cors === undefined || urls.has(url)) return;
    urls.add(url);
    // The route is for Fastify alone: the hook onRequest answers its requests.
    app.options(url, { config: { cors: config.cors } }, () => undefined);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { cors } = request.routeOptions.config;
    if (cors === undefined) return done();
    const { origin } = request.headers;
    void reply.header('vary', 'Origin');
    if (origin !== undefined) void reply.header('access-control-allow-origin', origin);
    if (request.method !== 'OPTIONS') {
      if (origin !== undefined) void reply.header('access-control-expose-headers', EXPOSED);
      return done();
    }
    void reply
      .code(204)
      .headers({
        'access-control-allow-methods': cors.methods,
        'access-control-allow-headers': cors.headers,
        'access-control-max-age': PREFLIGHT_AGE_S,
      })
      .send();
  });
}

/**
 * Decides by the key whether a page may make this request. Throws FORBIDDEN when a page of another origin uses a client
 * key, and the page can read that; `null`, the origin of files and of sandboxed frames, is never allowed. A request without
 * Origin is no page's. The answer to a server key is kept from pages: such a key does not belong there.
 */
export function admitOrigin(
  { kind, allowed_origins }: Pick<ApiKeyPrincipal, 'kind' | 'allowed_origins'>,
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
): void {
  if (origin === undefined) return;
  if (kind === 'server') {
    void reply.removeHeader('access-control-allow-origin').removeHeader('access-control-expose-headers');
    return;
  }
  if (origin !== 'null' && allowed_origins.includes(origin)) return;
  const shown = JSON.stringify(origin.slice(0, 200));
  throw new ApiError('FORBIDDEN', `the origin ${shown} is not among allowed_origins of this API key`);
}
