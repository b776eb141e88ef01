import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticators } from '../auth/authenticators.ts';
import { requireOwnPage, sessionId } from '../auth/browser-session.ts';
import type { Config } from '../config.ts';
import { envelope } from '../http/envelope.ts';
import { expiredSessionCookie, sessionCookie } from './cookies.ts';
import { demoUser, requireLocalPage } from './dev-login.ts';
import { setConsoleHeaders } from './headers.ts';
import { serveConsole } from './static.ts';

interface Deps {
  auth: Authenticators;
  config: Pick<Config, 'data_dir' | 'public_url'>;
}

/** Routes of the console that are not API: its files, and how its users sign in and out. They are not in OpenAPI. */
export function consoleRoutes({ auth, config }: Deps) {
  const { console_sessions, dev_issuer } = auth;
  const https = config.public_url.startsWith('https:');

  const answer = (reply: FastifyReply, data: unknown) => {
    setConsoleHeaders(reply, { https });
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(envelope(data));
  };

  const signInAsDemo = async (request: FastifyRequest, reply: FastifyReply) => {
    requireLocalPage(request);
    const user_id = await demoUser(config.data_dir);
    const nobody = { display_name: null, provider_sid: null, id_token: null };
    const id = await console_sessions.begin({ user_id, ...nobody });
    void reply.header('set-cookie', sessionCookie(id));
    return answer(reply, { user_id });
  };

  const signOut = async (request: FastifyRequest, reply: FastifyReply) => {
    requireOwnPage(request);
    const id = sessionId(request.headers.cookie);
    if (id !== undefined) await console_sessions.end(id);
    void reply.header('set-cookie', expiredSessionCookie());
    return answer(reply, { provider_url: null });
  };

  return async (app: FastifyInstance): Promise<void> => {
    app.get('/console/auth/options', (_request, reply) =>
      answer(reply, { development: dev_issuer !== undefined, provider: false }),
    );
    if (dev_issuer !== undefined) app.post('/console/auth/dev', signInAsDemo);
    app.post('/console/auth/logout', signOut);
    await serveConsole(app, { https });
  };
}
