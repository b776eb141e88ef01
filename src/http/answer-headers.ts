import type { FastifyInstance } from 'fastify';

/** What every answer says unless its route says otherwise: it may hold personal data or secrets, and is what its type says. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Sets {@link ANSWER_HEADERS} on every answer of the host, errors too. Install it before the routes. */
export function installAnswerHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, proceed) => {
    void reply.headers(ANSWER_HEADERS);
    proceed();
  });
}
