import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as the receiver got it. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
  at_ms: number;
}

/** How a receiver answers its nth request, counted from 1. */
export type Answer = (response: ServerResponse, n: number, request: IncomingMessage) => void;

/** A webhook receiver on loopback. */
export interface Receiver {
  url: string;
  host: string;
  received: Received[];
  /** The most connections that were open at the same time. */
  most_open(): number;
  close(): Promise<void>;
}

/** An answer with this status and text. */
export const answering =
  (status: number, text = '', headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, headers).end(text);
  };

/** Starts a receiver; every request is read before it is answered. */
export async function startReceiver(answer: Answer): Promise<Receiver> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ headers: request.headers, body, path: request.url ?? '', at_ms: Date.now() });
      answer(response, received.length, request);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/hook`,
    host,
    received,
    most_open: () => most,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
