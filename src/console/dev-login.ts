import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireOwnPage } from '../http/auth/browser-session.ts';
import type { DevIssuer } from '../http/auth/dev-issuer.ts';
import { ApiError } from '../errors.ts';
import { isLoopback } from '../platform/egress/addresses.ts';

const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Throws FORBIDDEN unless the request comes from a page of this very machine's service. A proxy's header or another host
 * name (DNS rebinding) is refused. A proxy that sends no such header cannot be recognised: {@link userOfSignIn} decides.
 */
export function requireLocalPage(request: FastifyRequest): void {
  const { headers, socket } = request;
  const refuse = (why: string): never => {
    throw new ApiError('FORBIDDEN', `the development sign-in is for this machine only: ${why}`);
  };
  if (!isLoopback(socket.remoteAddress ?? '')) refuse('the connection comes from another machine');
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  if (!LOCAL_HOSTS.has(host)) refuse(`"${host.slice(0, 100)}" is not a loopback host`);
  const forwarded = Object.keys(headers).find(
    (name) => name.startsWith('x-forwarded-') || name === 'forwarded',
  );
  if (forwarded !== undefined) refuse(`it was sent through a proxy (${forwarded})`);
  requireOwnPage(request);
}

const signInBody = z.object({ token: z.string().max(100) });

/** The user of the token in the body, which is used up. Throws FORBIDDEN when it is not a token that still can be used. */
export function userOfSignIn({ body }: FastifyRequest, issuer: Pick<DevIssuer, 'takeSignIn'>): string {
  const parsed = signInBody.safeParse(body);
  const user_id = parsed.success ? issuer.takeSignIn(parsed.data.token) : undefined;
  if (user_id !== undefined) return user_id;
  throw new ApiError(
    'FORBIDDEN',
    'the development sign-in wants the token of a link that was not used before: open the link that the service printed ' +
      'when it started, or make another with `npm run provision -- sign-in`',
  );
}
