import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a model of the service received. */
export interface Received {
  path: string;
  key: string | undefined;
  authorization: string | undefined;
  events: { event: string; timestamp: string; properties?: Record<string, unknown> }[];
}

/** A service over HTTP that keeps what it receives; undefined as an answer: it never answers. */
export interface HttpModel {
  url: string;
  received: Received[];
  /** The status of the next answers. */
  status: number | undefined;
  close(): Promise<void>;
}

/** Starts the model on a free port. */
export async function startHttpModel(): Promise<HttpModel> {
  const answer = (status: number | undefined, { events }: Received, response: ServerResponse): void => {
    if (status === undefined) return;
    const data = { ingestion_id: 'i', accepted: events.length, rejected: [] };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
  };
  const model: HttpModel = { url: '', received: [], status: 202, close: () => Promise.resolve() };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { events = [] } = JSON.parse(Buffer.concat(parts).toString()) as Partial<Received>;
      const { headers, url = '' } = request;
      const key = headers['idempotency-key']?.toString();
      const received = { path: url, key, authorization: headers.authorization, events };
      model.received.push(received);
      answer(model.status, received, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  model.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return model;
}
