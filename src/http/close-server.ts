import type { FastifyInstance } from 'fastify';

const CLOSE_IDLE_EVERY_MS = 50;

/**
 * Stops listening and resolves when the requests under way are answered. fastify ends idle connections once, when it
 * begins to close. A connection whose request is answered after that would stay open for its keep-alive time of 72 s
 * unless the client used it again, so idle ones are ended until none is left.
 */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const closingIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  try {
    await app.close();
  } finally {
    clearInterval(closingIdle);
  }
}
