import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticators } from '../http/auth/authenticators.ts';
import { requireOwnPage, sessionId } from '../http/auth/browser-session.ts';
import type { DevIssuer } from '../http/auth/dev-issuer.ts';
import type { Config } from '../config.ts';
import { envelope, JSON_TYPE } from '../http/envelope.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import { expiredSessionCookie, sessionCookie } from './cookies.ts';
import { requireLocalPage, userOfSignIn } from './dev-login.ts';
import { setConsoleHeaders } from './headers.ts';
import { IdentityProvider } from './identity-provider.ts';
import { providerRoutes, signInRates } from './provider-routes.ts';
import { createSignInSeal } from './sealed-sign-in.ts';
import { serveConsole } from './static.ts';
import type { Platform } from '../platform/platform.ts';

interface Deps extends Pick<Platform, 'postgres' | 'rateLimiter' | 'clock' | 'logger'> {
  auth: Authenticators;
  config: Pick<Config, 'public_url' | 'console_provider'>;
  /** From which the key of sign-ins is derived. */
  credentials_keys: EncryptionKeys;
}

/** So many statements of sign-ins run at once: however many try, the API keeps its connections. */
const SIGN_IN_STATEMENTS = 1;

/** Routes of the console that are not API: its files, and how its users sign in and out. They are not in OpenAPI. */
export function consoleRoutes(deps: Deps) {
  const { auth, config, credentials_keys, postgres, rateLimiter, clock, logger } = deps;
  const { console_sessions } = auth;
  const { console_provider: settings, public_url } = config;
  const https = public_url.startsWith('https:');
  const home_url = `${public_url}/console/`;
  const redirect_uri = `${public_url}/console/auth/callback`;
  const provider =
    settings === undefined ? undefined : new IdentityProvider({ settings, redirect_uri, home_url, clock });
  const dev_issuer = provider === undefined ? auth.dev_issuer : undefined;
  const takePermit = signInRates(rateLimiter);

  const answer = (reply: FastifyReply, data: unknown) => {
    setConsoleHeaders(reply, { https });
    return reply.header('content-type', JSON_TYPE).header('cache-control', 'no-store').send(envelope(data));
  };

  const signInInDevelopment = async (issuer: DevIssuer, request: FastifyRequest, reply: FastifyReply) => {
    requireLocalPage(request);
    await takePermit('sign_in', request.ip);
    const user_id = userOfSignIn(request, issuer);
    const nobody = { display_name: null, provider_sid: null, id_token: null };
    const id = await console_sessions.begin({ user_id, ...nobody });
    void reply.header('set-cookie', sessionCookie(id));
    return answer(reply, { user_id });
  };

  const signOut = async (request: FastifyRequest, reply: FastifyReply) => {
    requireOwnPage(request);
    await takePermit('sign_in', request.ip);
    const id = sessionId(request.headers.cookie);
    const id_token = id === undefined ? null : await console_sessions.end(id);
    void reply.header('set-cookie', expiredSessionCookie());
    const provider_url = id_token === null ? null : await provider?.logoutUrl(id_token);
    return answer(reply, { provider_url: provider_url ?? null });
  };

  return async (app: FastifyInstance): Promise<void> => {
    app.get('/console/auth/options', (_request, reply) =>
      answer(reply, { development: dev_issuer !== undefined, provider: provider !== undefined }),
    );
    if (dev_issuer !== undefined) {
      app.post('/console/auth/dev', (request, reply) => signInInDevelopment(dev_issuer, request, reply));
    }
    app.post('/console/auth/logout', signOut);
    if (provider !== undefined && settings !== undefined) {
      const seal = createSignInSeal(credentials_keys, settings);
      const sql = postgres.service.share(SIGN_IN_STATEMENTS);
      const shared = { console_sessions, takePermit, sql, clock, logger, https, home_url };
      providerRoutes(app, { provider, seal, ...shared });
    }
    await serveConsole(app, { https });
  };
}
