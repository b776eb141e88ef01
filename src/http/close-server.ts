import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const LOOK_EVERY_MS = 50;

/**
 * Call it before the app listens. It returns a function that stops listening and resolves when the requests under way
 * have been answered. fastify closes idle connections only once, when it begins to close, and Node counts a
 * connection on which nothing has come yet as one that is used. Either would stay open for a minute; browsers and load
 * balancers open connections in advance. So connections without a request are closed until none is left, each when two
 * looks have found it so: what a client is just sending has that long to arrive.
 */
export function closerOf(app: FastifyInstance): () => Promise<void> {
  /** The open connections, with the number of their requests under way. */
  const open = new Map<Socket, number>();
  const count = (socket: Socket, change: 1 | -1) => {
    const before = open.get(socket);
    if (before !== undefined) open.set(socket, before + change);
  };
  app.server.on('connection', (socket: Socket) => {
    open.set(socket, 0);
    socket.once('close', () => open.delete(socket));
  });
  app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    count(socket, 1);
    response.once('close', () => count(socket, -1));
  });
  return async () => {
    let found = new Set<Socket>();
    const looking = setInterval(() => {
      const unused = [...open].filter(([, requests]) => requests === 0).map(([socket]) => socket);
      for (const socket of unused) if (found.has(socket)) socket.destroy();
      found = new Set(unused);
    }, LOOK_EVERY_MS);
    try {
      await app.close();
    } finally {
      clearInterval(looking);
    }
  };
}
