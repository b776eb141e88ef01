import type { FastifyInstance } from 'fastify';

const CLOSE_IDLE_EVERY_MS = 50;

/**
 * Stops listening and resolves when the running requests have been answered. fastify closes idle connections only once,
 * when it begins to close. A connection whose request is answered after that would stay open for its keep-alive time of
 * 72 s unless the client used it again. So idle connections are closed repeatedly until none is left.
 */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const closingIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  try {
    await app.close();
  } finally {
    clearInterval(closingIdle);
  }
}
